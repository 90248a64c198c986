import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { createGateway, type GatewayConfigInput, type Gateway } from "propylon";
import type { Era } from "../../../core/kit/types.ts";

/** Where the server of a matrix cell is and what it speaks. */
export interface Hop {
  readonly transport: "stdio" | "http";
  readonly era: Era;
  /** Default: our own. */
  readonly httpClient?: "undici";
}

/** Every way to a server. */
export const HOPS: readonly Hop[] = [
  { transport: "http", era: "legacy" },
  { transport: "http", era: "modern" },
  { transport: "http", era: "legacy", httpClient: "undici" },
  { transport: "http", era: "modern", httpClient: "undici" },
  { transport: "stdio", era: "legacy" },
  { transport: "stdio", era: "modern" },
];

/** Every kind of client. */
export const ERAS: readonly Era[] = ["legacy", "modern"];

/** A gateway in front of one real server process. */
export interface Scene {
  readonly url: string;
  close(): Promise<void>;
}

/** The old era runs on the old SDK, so that its server is a real one too. */
const PROGRAMS: Record<Era, string> = { legacy: "legacy.mjs", modern: "modern.mjs" };

/** Starts a server and a gateway, and waits until they know each other. */
export async function startScene({ transport, era, httpClient }: Hop): Promise<Scene> {
  const program = fileURLToPath(
    new URL(`../../fixtures/upstreams/${PROGRAMS[era]}`, import.meta.url),
  );
  const remote = transport === "http" ? await startRemote(program) : undefined;
  const place = remote
    ? { url: remote.url }
    : { command: process.execPath, args: [program, "stdio"] };
  const config: GatewayConfigInput = {
    listeners: { main: { port: 0 } },
    servers: { everything: { ...place, protocol: era } },
    plugins: { servers: { ...(httpClient && { httpClient }) } },
  };
  const gateway = await createGateway(config, { log: pino({ level: "silent" }) });
  await gateway.listen();
  await ready(gateway);
  return {
    url: gateway.endpoints[0]!.url,
    async close() {
      await gateway.close({ grace: 0 });
      remote?.stop();
    },
  };
}

async function startRemote(program: string): Promise<{ url: string; stop(): void }> {
  const child = spawn(process.execPath, [program, "http"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return { url: (JSON.parse(line) as { url: string }).url, stop: () => child.kill() };
}

function ready(gateway: Gateway): Promise<void> {
  const isReady = (): boolean => gateway.servers.get("everything")?.status.state === "ready";
  return new Promise((resolve) => {
    const off = gateway.hook("server:state", () => {
      if (!isReady()) return;
      off();
      resolve();
    });
    if (isReady()) resolve();
  });
}
