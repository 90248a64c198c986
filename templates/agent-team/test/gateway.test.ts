import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectClient, setupGateway } from "propylon/testing";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { startModel, type Question, type Reply } from "./model.js";

const folder = mkdtempSync(join(tmpdir(), "gateway-test-"));
writeFileSync(join(folder, "plan.txt"), "Ship it on Friday.");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const key = "a-key-for-the-test-only";
const headers = { authorization: `Bearer ${key}` };

/** The gateway as it is deployed, with a scripted model and a folder of its own. */
async function start(model: (question: Question) => Reply) {
  const environment = {
    GATEWAY_KEY: key,
    STORE: "memory",
    MODEL_URL: await startModel(model),
    FOLDER: folder,
    NOTES: join(folder, "notes.jsonl"),
    SWITCHES: join(folder, "switches.json"),
  };
  return setupGateway({ file: "gateway.yaml", environment });
}

/** Asks until an agent can work: the servers that it depends on take a moment to start. */
async function becomesWell(url: string): Promise<void> {
  const client = await connectClient(url, { headers });
  onTestFinished(() => client.close());
  await expect
    .poll(async () => JSON.stringify(await client.callTool({ name: "get_health" })), {
      timeout: 20_000,
    })
    .toContain('\\"status\\":\\"ok\\"');
}

it("the orchestrator has engineering read a file, and says what it read", async () => {
  const { client, gateway } = await start(({ from, text, tools }) => {
    if (from === "tool") return text;
    const read = tools.find((name) => name.endsWith("read_text_file"));
    if (read) return { call: read, with: { path: join(folder, "plan.txt") } };
    return { call: "engineering", with: { message: "Read plan.txt." } };
  });
  await becomesWell(gateway.endpoints.find(({ name }) => name === "agent-orchestrator")!.url);
  const steps: string[] = [];
  const { content } = await client.callTool(
    { name: "orchestrator", arguments: { message: "When do we ship?" } },
    undefined,
    { onprogress: ({ message = "" }) => void steps.push(message) },
  );
  expect(JSON.stringify(content)).toContain("Ship it on Friday.");
  expect(steps).toContain("engineering/engineering: started");
});

it("research writes a note, and people can read it", async () => {
  const { gateway, url } = await start(({ from, text, tools }) =>
    from === "tool"
      ? text
      : { call: tools.find((name) => name.endsWith("note_add"))!, with: { text } },
  );
  const endpoint = gateway.endpoints.find(({ name }) => name === "agent-research")!;
  const client = await connectClient(endpoint.url, { headers });
  onTestFinished(() => client.close());
  const message = "The gateway speaks MCP.";
  const { content } = await client.callTool({ name: "research", arguments: { message } });
  expect(content).toEqual([{ type: "text", text: "It is noted." }]);
  const kept = await (await fetch(`${url}/notes`, { headers })).json();
  expect(kept).toMatchObject({ notes: [{ text: message, by: "agent:research" }] });
});

it("lists its agents in the registry, and lets nobody use them without the key", async () => {
  const { url } = await start(() => "Hello.");
  const list = await (await fetch(`${url}/.well-known/mcp/server.json`)).text();
  for (const name of ["research", "engineering", "orchestrator"])
    expect(list).toContain(`/agents/${name}/mcp`);
  const refused = await fetch(`${url}/agents/research/mcp`, { method: "POST", body: "{}" });
  expect(refused.status).toBe(401);
});
