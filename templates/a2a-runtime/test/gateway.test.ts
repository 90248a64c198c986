import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClientFactory, JsonRpcTransportFactory } from "@a2a-js/sdk/client";
import { freePort, setupGateway } from "propylon/testing";
import { afterAll, expect, it } from "vitest";
import { startModel, type Question, type Reply } from "./model.js";

const folder = mkdtempSync(join(tmpdir(), "gateway-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const key = "a-key-for-the-test-only";
const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
/** SHA-256 of "Ada". */
const SUM = "99a563ab2f6e21e96998f9fddd2a2bab82b70ac019579502b8d7fc0032ff62bb";

/** The gateway as it is deployed, with a scripted model, the queue in memory and a folder and port of its own. */
async function start(model: (question: Question) => Reply = ({ text }) => text) {
  // The queue's worker and the runtime must know each other's port before they start.
  const port = String(await freePort());
  const environment = {
    GATEWAY_KEY: key,
    STORE: "memory",
    MODEL_URL: await startModel(model),
    A2A_PORT: port,
    WORK_DIR: folder,
  };
  return setupGateway({ file: "gateway.yaml", environment, ports: "written" });
}

function message(text: string, skill?: string): object {
  const metadata = skill === undefined ? {} : { metadata: { skill } };
  return { messageId: crypto.randomUUID(), role: "user", parts: [{ text }], ...metadata };
}

it("does a task of contract v1 with a tool, without a model", async () => {
  const { url } = await start();
  const body = JSON.stringify({ message: message("Ada", "checksum") });
  const task = await (await fetch(url, { method: "POST", headers, body })).json();
  expect(task).toMatchObject({ status: { state: "completed" } });
  expect(JSON.stringify(task)).toContain(SUM);
});

it("has the agent do a task from the queue, and keeps the result", async () => {
  const { url } = await start(({ from, text, tools }) =>
    from === "tool"
      ? `The sum is ${text}`
      : { call: tools.find((name) => name.endsWith("checksum"))!, with: { text: "Ada" } },
  );
  const body = JSON.stringify({ message: message("What is the sum of Ada?") });
  const taken = await fetch(`${url}/sidecar/tasks`, { method: "POST", headers, body });
  expect(taken.status).toBe(202);
  const { id } = (await taken.json()) as { id: string };
  const result = await fetch(`${url}/sidecar/tasks/${id}?wait=20s`, { headers });
  expect(JSON.stringify(await result.json())).toContain(`The sum is ${SUM}`);
});

it("speaks A2A 1.0 with the client of its SDK", async () => {
  const { url } = await start(({ text }) => `You said: ${text}`);
  const fetchWithKey: typeof fetch = (input, init) => {
    const all = new Headers(init?.headers);
    all.set("authorization", headers.authorization);
    return fetch(input, { ...init, headers: all });
  };
  const transports = [new JsonRpcTransportFactory({ fetchImpl: fetchWithKey })];
  const client = await new ClientFactory({ transports }).createFromUrl(url);
  const answer = await client.sendMessage({
    tenant: "",
    message: {
      messageId: crypto.randomUUID(),
      contextId: "",
      taskId: "",
      role: 1,
      parts: [
        {
          content: { $case: "text", value: "Hello." },
          metadata: undefined,
          filename: "",
          mediaType: "",
        },
      ],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: undefined,
    metadata: undefined,
  });
  expect(JSON.stringify(answer)).toContain("You said: Hello.");
});

it("declares what it is, to everybody, and works for nobody without the key", async () => {
  const { url } = await start();
  const { server, ...declared } = (await read(`${url}/runtime-contract.json`)) as {
    server: object;
  };
  const { server: _, ...written } = JSON.parse(readFileSync("runtime-contract.json", "utf8"));
  expect(declared).toEqual(written);
  expect(server).toMatchObject({ healthPath: "/health", taskPath: "/" });
  expect((await fetch(`${url}/health`)).status).toBe(200);
  const card = await read(`${url}/.well-known/agent-card.json`);
  expect(card).toMatchObject({ skills: [{ id: "work" }, { id: "checksum" }] });
  const body = JSON.stringify({ message: message("Ada", "checksum") });
  const refused = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  expect(refused.status).toBe(401);
});

it("offers its tools to MCP clients", async () => {
  const { client } = await start();
  const { content } = await client.callTool({ name: "checksum", arguments: { text: "Ada" } });
  expect(content).toEqual([{ type: "text", text: SUM }]);
});

async function read(url: string): Promise<unknown> {
  return (await fetch(url)).json();
}
