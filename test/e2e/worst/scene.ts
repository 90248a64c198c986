import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeFolder } from "../../kit/folder.ts";
import { Foe } from "./foe.ts";
import { ProbedGateway } from "./gateway.ts";

const PARROT = fileURLToPath(new URL("parrot.mjs", import.meta.url));
const SCRIPT = fileURLToPath(
  new URL("../../fixtures/process/scripted-server.mjs", import.meta.url),
);

const SECRET = "a key of the tests, long enough for it";

/** A server that does what it is asked. */
export const GOOD = { command: process.execPath, args: [SCRIPT] };

/** An A2A runtime beside the other plugins. */
export const COUNTER = {
  listener: "main",
  name: "counter",
  workDir: ".",
  skills: [{ id: "count", command: ["wc", "-w"] }],
};

/** A gateway with every plugin that takes something, among peers that are hostile. */
export interface Scene {
  readonly gateway: ProbedGateway;
  readonly foe: Foe;
  /** Where the child takes its answer to a method from. */
  parrotFile(method: string): string;
  close(): Promise<void>;
}

export async function openScene(): Promise<Scene> {
  const foe = await Foe.start();
  const words = makeFolder();
  const gateway = await ProbedGateway.start((port) => ({
    listeners: { main: { port } },
    publicUrl: `http://127.0.0.1:${port}`,
    store: "sqlite:./gateway.db",
    management: { mutations: true },
    log: { level: "info", format: "json" },
    servers: {
      good: GOOD,
      foe: { url: `${foe.url}/mcp`, protocol: "legacy" },
      // What it says often has no id, so that nothing but the time ends a request.
      parrot: {
        command: process.execPath,
        args: [PARROT, words],
        connectTimeout: "3s",
        timeout: "3s",
      },
      rows: { type: "openapi", spec: `${foe.url}/document.json` },
      agent: { type: "a2a", url: `${foe.url}/agent` },
      locked: { url: `${foe.url}/guarded`, auth: "oauth" },
    },
    agents: { worker: { description: "Works.", instructions: "You work." } },
    plugins: {
      a2a: COUNTER,
      "a2a-client": {},
      access: {},
      admin: { allowConfigEdits: true },
      agents: {
        model: "foe/scripted",
        providers: { foe: { type: "openai-compatible", baseUrl: `${foe.url}/v1` } },
      },
      breaker: {},
      console: { secretKeys: [SECRET], allowedAddresses: ["127.0.0.1"] },
      events: {},
      gating: {},
      health: {},
      history: {},
      lifecycle: {},
      "oauth-client": { secretKeys: [SECRET], allowedAddresses: ["127.0.0.1"] },
      mcp: {},
      metrics: {},
      openapi: {},
      payloads: {},
      progress: {},
      ratelimit: {},
      registry: {},
      rest: {},
      sidecar: { runtime: { url: `${foe.url}/runtime` }, readiness: false },
      tasks: {},
      ui: {},
    },
  }));
  return {
    gateway,
    foe,
    parrotFile: (method) => join(words, method.replaceAll("/", "-")),
    async close() {
      await gateway.stop();
      await foe.close();
    },
  };
}
