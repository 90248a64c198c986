import type { CommandDefinition, CommandInput } from "propylon";
import { API_KEY_FLAG, LOG_LEVEL_FLAG, readCount } from "propylon/cli";
import type { SidecarFlags } from "./process.ts";

/** A sidecar as a process of its own. */
export const commands = {
  sidecar: {
    description:
      "Feed a runtime of contract v1 from a durable queue; behind -- its command, to run it as well.",
    flags: [
      {
        flag: "--name <name>",
        description: "agent whose tasks are taken",
        env: "AGENT_NAME",
        read: readName,
      },
      {
        flag: "--nats <urls>",
        description: "NATS servers (default: a queue in memory)",
        env: "NATS_URL",
        read: readServers,
      },
      {
        flag: "--nats-creds <file>",
        description: "credentials of the NATS user",
        env: "NATS_CREDS",
      },
      {
        flag: "--runtime <url>",
        description: "where the runtime listens (default: localhost at $A2A_PORT or 8080)",
        read: "url",
      },
      {
        flag: "--runtime-key <key>",
        description: "bearer token that the runtime wants",
        env: "RUNTIME_KEY",
        read: "key",
      },
      {
        flag: "--env <variable>",
        description:
          "NAME or NAME=value for the command behind --; repeatable. It gets no other variable of this process",
        repeatable: true,
        read: "variable",
      },
      {
        flag: "--manifest <file>",
        description: "the runtime's runtime-contract.json (default: asked from it)",
      },
      { flag: "--verify", description: "only check streams and consumer, create none" },
      {
        flag: "--concurrency <count>",
        description: "tasks at a time (default: 1)",
        read: readCount,
      },
      {
        flag: "--ack-wait <duration>",
        description: "silence after which a task goes elsewhere (default: 30s)",
        read: "duration",
      },
      {
        flag: "--max-deliver <count>",
        description: "deliveries of a task before it is given up (default: 5)",
        read: readCount,
      },
      {
        flag: "--timeout <duration>",
        description: "longest run of a task (default: 1h)",
        read: "duration",
      },
      {
        flag: "--startup-timeout <duration>",
        description: "how long the runtime may take to become healthy",
        env: "STARTUP_TIMEOUT",
        read: "duration",
        default: "60s",
      },
      {
        flag: "--grace <duration>",
        description: "how long running tasks get at a shutdown",
        env: "TERMINATION_GRACE_PERIOD",
        read: "duration",
        default: "30s",
      },
      {
        flag: "--port <port>",
        description: "port of status, drain and metrics",
        env: "SIDECAR_PORT",
        read: "port",
        default: 8081,
      },
      {
        flag: "--host <address>",
        description: "address of it; another one than loopback needs a key",
        default: "127.0.0.1",
      },
      API_KEY_FLAG,
      LOG_LEVEL_FLAG,
    ],
    async run({ flags, rest }: CommandInput<SidecarFlags>) {
      const { sidecar } = await import("./process.ts");
      await sidecar(flags, rest);
    },
  },
} satisfies Record<string, CommandDefinition>;

function readName(text: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(text)) return text;
  throw new Error("It must be 1 to 64 letters, digits, - and _.");
}

/** What is wrong with an address is told by the plugin, without the credentials that may stand in it. */
function readServers(text: string): readonly string[] {
  const servers = text.split(",").map((each) => each.trim());
  if (servers.every((each) => each !== "")) return servers;
  throw new Error("It must be addresses such as nats://127.0.0.1:4222.");
}
