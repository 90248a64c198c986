import { fileURLToPath } from "node:url";
import { Foe } from "./foe.ts";
import { ProbedGateway } from "./gateway.ts";

const SCRIPT = fileURLToPath(
  new URL("../../fixtures/process/scripted-server.mjs", import.meta.url),
);

/** A gateway with every plugin that takes something, among peers that are hostile. */
export interface Scene {
  readonly gateway: ProbedGateway;
  readonly foe: Foe;
  close(): Promise<string>;
}

export async function openScene(): Promise<Scene> {
  const foe = await Foe.start();
  const gateway = await ProbedGateway.start((port) => ({
    listeners: { main: { port } },
    publicUrl: `http://127.0.0.1:${port}`,
    store: "sqlite:./gateway.db",
    management: { mutations: true },
    log: { level: "info", format: "json" },
    servers: {
      good: { command: process.execPath, args: [SCRIPT] },
      foe: { url: `${foe.url}/mcp`, protocol: "legacy" },
    },
    agents: { worker: { description: "Works.", instructions: "You work." } },
    plugins: {
      a2a: { name: "counter", workDir: ".", skills: [{ id: "count", command: ["wc", "-w"] }] },
      "a2a-client": {},
      access: {},
      admin: { allowConfigEdits: true },
      agents: {
        model: "foe/scripted",
        providers: { foe: { type: "openai-compatible", baseUrl: `${foe.url}/v1` } },
      },
      breaker: {},
      console: { secretKeys: ["a key of the tests, long enough for it"] },
      events: {},
      gating: {},
      health: {},
      history: {},
      lifecycle: {},
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
    async close() {
      const how = await gateway.stop();
      await foe.close();
      return how;
    },
  };
}
