import type { SidecarFlags } from "./sidecar.ts";
import { InvalidArgumentError, Option, type Command } from "commander";
import {
  countReader,
  keyReader,
  readDuration,
  readPort,
  readUrl,
  readVariable,
} from "./readers.ts";

/** The command `propylon sidecar`. */
export function describeSidecar(command: Command, words: readonly string[] | undefined): void {
  command
    .description(
      "Feed a runtime of contract v1 from a durable queue; behind -- its command, to run it as well.",
    )
    .addOption(
      new Option("--name <name>", "agent whose tasks are taken")
        .env("AGENT_NAME")
        .argParser(readName),
    )
    .addOption(
      new Option("--nats <urls>", "NATS servers (default: a queue in memory)")
        .env("NATS_URL")
        .argParser(readServers),
    )
    .addOption(new Option("--nats-creds <file>", "credentials of the NATS user").env("NATS_CREDS"))
    .option(
      "--runtime <url>",
      "where the runtime listens (default: localhost at $A2A_PORT or 8080)",
      readUrl,
    )
    .addOption(
      new Option("--runtime-key <key>", "bearer token that the runtime wants")
        .env("RUNTIME_KEY")
        .argParser(keyReader("--runtime-key")),
    )
    .option(
      "--env <variable>",
      "NAME or NAME=value for the command behind --; repeatable. It sees no other variable of ours",
      readVariable,
    )
    .option("--manifest <file>", "the runtime's runtime-contract.json (default: asked from it)")
    .option("--verify", "only check streams and consumer, create none")
    .option("--concurrency <count>", "tasks at a time (default: 1)", countReader(1, 1_000))
    .option(
      "--ack-wait <duration>",
      "silence after which a task goes elsewhere (default: 30s)",
      readDuration,
    )
    .option(
      "--max-deliver <count>",
      "deliveries of a task before it is given up (default: 5)",
      countReader(1, 1_000),
    )
    .option("--timeout <duration>", "longest run of a task (default: 1h)", readDuration)
    .addOption(
      new Option("--startup-timeout <duration>", "how long the runtime may take to become healthy")
        .env("STARTUP_TIMEOUT")
        .argParser(readDuration)
        .default("60s"),
    )
    .addOption(
      new Option("--grace <duration>", "how long running tasks get at a shutdown")
        .env("TERMINATION_GRACE_PERIOD")
        .argParser(readDuration)
        .default("30s"),
    )
    .addOption(
      new Option("--port <port>", "port of status, drain and metrics")
        .env("SIDECAR_PORT")
        .argParser(readPort)
        .default(8081),
    )
    .option("--host <address>", "address of it; another one than loopback needs a key", "127.0.0.1")
    .addOption(
      new Option("--api-key <key>", "bearer token clients must send")
        .env("PROPYLON_API_KEY")
        .argParser(keyReader("--api-key")),
    )
    .addOption(
      new Option("--log-level <level>", "least severe level of the log").choices([
        "silent",
        "fatal",
        "error",
        "warn",
        "info",
        "debug",
        "trace",
      ]),
    )
    .action(async (flags: SidecarFlags) => {
      const { sidecar } = await import("./sidecar.ts");
      await sidecar(flags, words);
    });
}

function readName(text: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(text)) return text;
  throw new InvalidArgumentError("It must be 1 to 64 letters, digits, - and _.");
}

/** What is wrong with an address is told by the plugin, without the credentials that may stand in it. */
function readServers(text: string): readonly string[] {
  const servers = text.split(",").map((each) => each.trim());
  if (servers.every((each) => each !== "")) return servers;
  throw new InvalidArgumentError("It must be addresses such as nats://127.0.0.1:4222.");
}
