import { beforeAll, expect, it } from "vitest";
import { connectClient } from "../../../core/testing/index.ts";
import { makeFolder } from "../../kit/folder.ts";
import { startPropylon } from "./propylon.ts";

const PLUGIN = `
import { definePlugin } from "propylon";
export default definePlugin({
  name: "shelf",
  setup(gateway) {
    const policy = { access: "operator", management: true };
    gateway.route("GET", "/shelf", { ...policy, mutates: false }, () => ({ ok: true }));
    for (const method of ["POST", "PUT", "PATCH", "DELETE"])
      gateway.route(method, "/shelf", { ...policy, mutates: true }, () => ({ ok: true }));
    gateway.tool("say", { description: "Says it.", run: () => "said" });
  },
});`;
const CHANGES = ["POST", "PUT", "PATCH", "DELETE"];

let folder: string;
beforeAll(async () => {
  folder = makeFolder({
    "shelf.ts": PLUGIN,
    "gateway.yaml":
      "listeners: { main: { port: 0 } }\nmanagement: { mutations: true }\nplugins: { ./shelf.ts: {} }\n",
  });
});

it.each<[string, string[], Record<string, string>, number]>([
  ["as the file says", [], {}, 200],
  ["--read-only", ["--read-only"], {}, 403],
  ["--read-only beside --allow-mutations", ["--read-only", "--allow-mutations"], {}, 403],
  ["MCPO_READ_ONLY", [], { MCPO_READ_ONLY: "1" }, 403],
  ["MCPQ_READ_ONLY", [], { MCPQ_READ_ONLY: "1" }, 403],
  ["GATEWAY_READ_ONLY", [], { GATEWAY_READ_ONLY: "1" }, 403],
])(
  "M127, M139: %s decides every change, while reads and tool calls go on",
  async (_how, flags, env, wanted) => {
    const running = await startPropylon(["start", ...flags], { cwd: folder, env });
    try {
      const shelf = new URL("/shelf", running.url);
      for (const method of CHANGES) {
        const response = await fetch(shelf, { method });
        expect([method, response.status]).toEqual([method, wanted]);
        const body = (await response.json()) as { ok: boolean; error?: { code: string } };
        expect(body.error?.code).toBe(wanted === 403 ? "read_only" : undefined);
      }
      expect((await fetch(shelf)).status).toBe(200);
      const client = await connectClient(running.url);
      expect(await client.callTool({ name: "say" })).toMatchObject({
        content: [{ type: "text", text: "said" }],
      });
      await client.close();
    } finally {
      await running.stop();
    }
  },
);
