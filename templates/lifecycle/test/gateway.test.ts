import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setupGateway } from "propylon/testing";
import { afterAll, expect, it } from "vitest";
import { startModel, type Question, type Reply } from "./model.js";

const folder = mkdtempSync(join(tmpdir(), "gateway-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const key = "a-key-for-the-test-only";
const headers = { authorization: `Bearer ${key}` };

/** The gateway as it is deployed, with a scripted model and a folder of its own. */
async function start(model: (question: Question) => Reply) {
  const environment = {
    GATEWAY_KEY: key,
    MODEL_URL: await startModel(model),
    FOLDER: folder,
    STORE: "memory",
  };
  const { client, url } = await setupGateway({ file: "gateway.yaml", environment });
  const call = async <T>(name: string, args: Record<string, unknown>): Promise<T> => {
    const { content } = await client.callTool({ name, arguments: args });
    const [answer = { text: "" }] = content as { text: string }[];
    return JSON.parse(answer.text) as T;
  };
  return { client, url, call };
}

/** With management.readOnly nothing changes over HTTP; tools can be called all the same. */
const isReadOnly = /^management:.*readOnly: true/m.test(readFileSync("gateway.yaml", "utf8"));

it("starts an agent over MCP, which reports a step, completes and leaves a payload", async () => {
  const { call, url } = await start(({ from, tools }) => {
    const report = tools.find((name) => name.endsWith("report_step"))!;
    return from === "user"
      ? { call: report, with: { what: "Counted.", minutes: 1 } }
      : { call: "agent_complete", with: { summary: "Done.", payload: "one two three" } };
  });
  const { agent_id: id } = await call<{ agent_id: string }>("agent_start", {
    contract: "Count to three.",
  });
  await expect
    .poll(() => call("agent_status", { agent_ids: [id] }), { timeout: 20_000 })
    .toEqual([expect.objectContaining({ agent_id: id, status: "completed", summary: "Done." })]);
  const payload = await fetch(`${url}/api/agents/${id}/payload`, { headers });
  expect(await payload.text()).toBe("one two three");
  const reported = await (await fetch(`${url}/steps`, { headers })).json();
  expect(reported).toMatchObject({ steps: [{ what: "Counted.", minutes: 1 }] });
});

it.skipIf(isReadOnly)(
  "stops an agent over HTTP, which makes no further request to the model",
  async () => {
    let asked = 0;
    const { url } = await start(({ tools }) => {
      asked++;
      return {
        call: tools.find((name) => name.endsWith("report_step"))!,
        with: { what: "On.", minutes: 1 },
      };
    });
    const post = (path: string, body?: object): Promise<Response> =>
      fetch(`${url}/api/agents${path}`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
      });
    const started = await post("", { contract: "Go on for ever.", start: true });
    const { agent_id: id } = (await started.json()) as { agent_id: string };
    await expect.poll(() => asked, { timeout: 20_000 }).toBeGreaterThan(1);
    expect(await (await post(`/${id}/stop`)).json()).toMatchObject({ status: "stopped" });
    const status = await (await fetch(`${url}/api/agents/${id}`, { headers })).json();
    expect(status).toMatchObject({ status: "stopped", stop_reason: "requested" });
  },
);

it("offers clients the tools for agents and nothing else, and nothing without the key", async () => {
  const { client, url } = await start(() => "Hello.");
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name).toSorted()).toEqual([
    "agent_complete",
    "agent_start",
    "agent_status",
    "agent_stop",
    "append_payload",
  ]);
  expect((await fetch(`${url}/api/agents`)).status).toBe(401);
});

it.runIf(isReadOnly)("lets nobody change anything over HTTP", async () => {
  const { url } = await start(() => "Hello.");
  const body = JSON.stringify({ contract: "Go." });
  const refused = await fetch(`${url}/api/agents`, { method: "POST", headers, body });
  expect(await refused.json()).toMatchObject({ error: { code: "read_only" } });
});
