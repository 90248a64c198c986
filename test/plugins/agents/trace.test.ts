import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { definePlugin, type Json } from "../../../core/index.ts";
import lifecycle from "../../../plugins/lifecycle/index.ts";
import { makeFolder } from "../../kit/folder.ts";
import { connect, setupTeam } from "./kit.ts";

const TRACE = {
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  tracestate: "vendor=1",
  baggage: "user=7",
};

/** A server that keeps the `_meta` of what it is called with. */
function createProbe() {
  const seen: (Json | undefined)[] = [];
  const plugin = definePlugin({
    name: "probe",
    setup(gateway) {
      gateway.tool("look", {
        description: "Looks.",
        run: (_args, { meta }) => (seen.push(meta), "seen"),
      });
    },
  });
  return { seen, plugin };
}

/** Asks the helper, or looks, and is done then. */
const useTool = ({ turn, tools }: { turn: number; tools: readonly { name: string }[] }) => {
  const tool = tools.find(({ name }) => name === "helper" || name.includes("look"))!;
  const args = tool.name === "helper" ? { message: "x" } : {};
  return turn === 0 ? { calls: [{ name: tool.name, args }] } : { text: "done" };
};

it("R010: trace context goes through agents of every kind to their tools without telemetry, and nothing else of _meta does", async () => {
  const { seen, plugin } = createProbe();
  const cwd = makeFolder();
  const code = 'export default { run: async ({ call }) => (await call("probe", "look")).text };';
  await writeFile(join(cwd, "code.mjs"), code);
  const { urlOf } = await setupTeam({
    plugins: [plugin],
    cwd,
    script: useTool,
    agents: {
      lead: { agents: ["helper"] },
      helper: { servers: ["probe"] },
      coder: { file: "./code.mjs", servers: ["probe"] },
    },
  });
  for (const [agent, tool] of [
    ["helper", "helper"],
    ["lead", "lead"],
    ["coder", "coder"],
  ] as const) {
    const client = await connect(urlOf(agent));
    const _meta = { ...TRACE, "vendor.example/secret": "not for others" };
    await client.callTool({ name: tool, arguments: { message: "go" }, _meta });
  }
  expect(seen).toEqual([TRACE, TRACE, TRACE]);
});

it("R010: an agent of the lifecycle plugin works in the trace of its own request, however long it waited", async () => {
  const { seen, plugin } = createProbe();
  const { url } = await setupTeam({
    plugins: [plugin, [lifecycle, { concurrency: 1, maxReminders: 0 }]],
    script: useTool,
    agents: { helper: { servers: ["probe"] } },
    config: { management: { enabled: true, mutations: true } },
  });
  const traces = ["a", "b", "c"].map((digit) => `00-${digit.repeat(32)}-b7ad6b7169203331-01`);
  for (const traceparent of traces) {
    const { status } = await fetch(`${url}/api/agents`, {
      method: "POST",
      headers: { "content-type": "application/json", traceparent },
      body: JSON.stringify({ contract: "go", agent: "helper", start: true }),
    });
    expect(status).toBe(201);
  }
  await expect.poll(() => seen).toEqual(traces.map((traceparent) => ({ traceparent })));
});
