import { type ChildProcess, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Running, startPropylon } from "../../core/cli/propylon.ts";
import { makeFolder } from "../../kit/folder.ts";
import { type Message, Speaker } from "../speaker.ts";

const SCRIPT = fileURLToPath(
  new URL("../../fixtures/process/scripted-server.mjs", import.meta.url),
);

/** How the hostile servers are reached; each is one server. */
export const TRANSPORTS = ["stdio", "http", "sse"] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** What a hostile server is told to say; see the tool `say` of scripted-server.mjs. */
export interface Saying {
  readonly words: readonly string[];
  readonly raw?: boolean;
  readonly body?: boolean;
  readonly open?: boolean;
  readonly hex?: boolean;
}

/** A gateway in its own process, with a hostile server on every transport and a good one. */
export interface Scene {
  readonly gateway: Running;
  /** A client of the legacy era with a session. */
  readonly speaker: Speaker;
  /** Makes a hostile server speak; resolves with the messages that the client got. */
  say(transport: Transport, saying: Saying, meta?: Message): Promise<readonly Message[]>;
  close(): Promise<number | null>;
}

/**
 * @param config members of the gateway's config beside servers
 * @param key that the client of the scene sends
 */
export async function openScene(config: object = {}, key?: string): Promise<Scene> {
  const folder = makeFolder();
  const [http, sse] = await Promise.all([serve("--http"), serve("--sse")]);
  const file = join(folder, "gateway.json");
  const child = { command: process.execPath, args: [SCRIPT, "--era", "legacy"] };
  await writeFile(
    file,
    JSON.stringify({
      listeners: { main: { port: 0 } },
      log: { format: "json", level: "info" },
      ...config,
      servers: {
        good: { command: process.execPath, args: [SCRIPT] },
        stdio: child,
        http: { url: http.url, protocol: "legacy" },
        sse: { url: sse.url, transport: "sse" },
      },
    }),
  );
  const gateway = await startPropylon(["start", file]);
  const speaker = await Speaker.open(gateway.url, "legacy", undefined, key);
  return {
    gateway,
    speaker,
    async say(transport, saying, meta) {
      const params = { name: `${transport}__say`, arguments: saying, ...(meta && { _meta: meta }) };
      return (await speaker.request("tools/call", params)).messages;
    },
    async close() {
      await speaker.close();
      const code = await gateway.stop();
      for (const { server } of [http, sse]) server.kill();
      return code;
    },
  };
}

async function serve(flag: string): Promise<{ server: ChildProcess; url: string }> {
  const server = spawn(process.execPath, [SCRIPT, flag, "--era", "legacy"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface({ input: server.stdout })) {
    const { url } = JSON.parse(line) as { url: string };
    return { server, url };
  }
  throw new Error("The server did not start.");
}
