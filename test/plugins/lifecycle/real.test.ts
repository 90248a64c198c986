import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectClient, setupGateway } from "../../../core/testing/index.ts";
import agents from "../../../plugins/agents/index.ts";
import lifecycle from "../../../plugins/lifecycle/index.ts";
import payloads from "../../../plugins/payloads/index.ts";
import { startModel } from "../../fixtures/model/model.mjs";
import type { Script } from "../../fixtures/model/types.ts";
import { call, gate, startOne, statusOf } from "./kit.ts";

/** Options of the agents plugin for agents behind a model server. */
const optionsOf = (url: string) => ({
  providers: { scripted: { type: "openai-compatible", baseUrl: url } },
  model: "scripted/scripted",
  agents: { worker: { instructions: "You count." } },
});

/** The real agents plugin, its loop and its adapter, against a model server over HTTP. */
async function startReal(script: Script, options: Record<string, unknown> = {}) {
  const model = await startModel({ script });
  onTestFinished(() => model.close());
  const started = await setupGateway({
    plugins: [[agents, optionsOf(model.url)], payloads, [lifecycle, options]],
  });
  return { ...started, model };
}

/** The id that the agent was told. */
const idIn = (body: Record<string, unknown>): string =>
  /agent_id is ([0-9a-f-]{36})/.exec(JSON.stringify(body))![1]!;

describe("with the agents plugin and a model server", () => {
  it("A028, A035, A036: the agent completes its contract with its own tools", async () => {
    const { client, model, url } = await startReal(({ body }, index) =>
      index === 0
        ? {
            calls: [
              { name: "append_payload", args: { agent_id: idIn(body), payload: "one two " } },
            ],
          }
        : {
            calls: [
              { name: "append_payload", args: { agent_id: idIn(body), payload: "three" } },
              { name: "agent_complete", args: { agent_id: idIn(body), summary: "Counted." } },
            ],
          },
    );
    const id = await startOne(client, "Count to three.");
    await expect
      .poll(() => statusOf(client, id))
      .toMatchObject({ status: "completed", summary: "Counted.", payload_size: 13 });
    expect(await (await fetch(`${url}/api/agents/${id}/payload`)).text()).toBe("one two three");
    expect(model.requests).toHaveLength(2);
    expect(idIn(model.requests[0]!.body)).toBe(id);
    expect(model.requests[0]!.text).toBe("Count to three.");
    expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual([
      "agent_complete",
      "append_payload",
    ]);
  });

  it.each([
    ["agent_stop", {}, "stopped"],
    ["agent_complete", { summary: "enough" }, "completed"],
  ])(
    "A025, A030, A031: after %s the request in flight is answered and no further one arrives",
    async (name, more, status) => {
      const answer = gate<void>();
      const { client, model } = await startReal(({ body }) => ({
        until: answer.opened,
        text: "Still at it.",
        calls: [{ name: "append_payload", args: { agent_id: idIn(body), payload: "x" } }],
      }));
      const ids = [await startOne(client), await startOne(client)] as const;
      await model.when(({ requests }) => requests.length === 2);
      expect(await call(client, name, { agent_id: ids[0], ...more })).toMatchObject({ status });
      answer.open();
      // The other agent goes on: its next requests show that the first would have made its own by now.
      await model.when(
        ({ requests }) => requests.filter(({ body }) => idIn(body) === ids[1]).length >= 4,
      );
      const own = model.requests.filter(({ body }) => idIn(body) === ids[0]);
      expect(own).toHaveLength(1);
      expect(own[0]).toMatchObject({ answered: true, aborted: false });
      await call(client, "agent_stop", { agent_id: ids[1] });
    },
  );

  it("C20: a model that fails stops the agent, and the error says why", async () => {
    const { client } = await startReal([{ status: 401 }]);
    const id = await startOne(client);
    await expect
      .poll(() => statusOf(client, id))
      .toMatchObject({
        status: "stopped",
        stop_reason: "error",
        error: expect.stringContaining("401"),
      });
  });

  it("A037: [CONTRACT COMPLETE] in the model's words completes it; in the contract it does not", async () => {
    const replies = [{ text: "Not yet." }, { text: "Three. [CONTRACT COMPLETE]" }];
    const { client, model } = await startReal(replies);
    const id = await startOne(client, "Say [CONTRACT COMPLETE] when done.");
    await expect
      .poll(() => statusOf(client, id))
      .toMatchObject({ status: "completed", summary: "Three." });
    expect(model.requests[1]!.text).toContain("still open");
  });

  it("A005: the end of the gateway cuts requests in flight", async () => {
    const { client, model, gateway } = await startReal(() => ({ until: new Promise(() => {}) }));
    await startOne(client);
    await model.when(({ inFlight }) => inFlight === 1);
    await gateway.close({ grace: 0 });
    await model.when(({ requests }) => requests[0]!.aborted);
    expect(model.requests).toHaveLength(1);
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

describe("propylon start", () => {
  it("A001, A002, A004, A043: a client with the source's configuration starts an agent", async () => {
    const model = await startModel({
      script: ({ body }) => ({
        calls: [{ name: "agent_complete", args: { agent_id: idIn(body), summary: "Hello." } }],
      }),
    });
    onTestFinished(() => model.close());
    const folder = await mkdtemp(join(tmpdir(), "propylon-lifecycle-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const port = await freePort();
    const { agents: team, ...options } = optionsOf(model.url);
    const config = {
      listeners: { main: { port } },
      agents: team,
      plugins: { agents: options, payloads: {}, lifecycle: {} },
    };
    await writeFile(join(folder, "gateway.json"), JSON.stringify(config));
    const main = new URL("../../../core/cli/main.ts", import.meta.url).pathname;
    const child = spawn(
      process.execPath,
      [
        "--conditions=@propylon/source",
        "--experimental-strip-types",
        "--no-warnings",
        main,
        "start",
        "gateway.json",
      ],
      { cwd: folder, stdio: ["ignore", "pipe", "pipe"] },
    );
    onTestFinished(async () => {
      const gone = once(child, "exit");
      child.kill("SIGTERM");
      await gone;
    });
    await expect
      .poll(
        () =>
          fetch(`http://localhost:${port}/livez`).then(
            ({ status }) => status,
            () => 0,
          ),
        { timeout: 15_000 },
      )
      .toBe(200);
    // The configuration of the source, but for the port.
    const minifram = { url: `http://localhost:${port}/mcp` };
    const direct = await connectClient(minifram.url);
    onTestFinished(() => direct.close());
    const id = await startOne(direct, "Say hello.");
    await expect
      .poll(() => statusOf(direct, id))
      .toMatchObject({ status: "completed", summary: "Hello." });
    // A client that reads such files: another gateway.
    const { client } = await setupGateway({ config: { servers: { minifram } } });
    await expect
      .poll(async () => (await client.listTools()).tools.map(({ name }) => name))
      .toContain("agent_status");
    expect(await statusOf(client, id)).toMatchObject({ status: "completed" });
  }, 30_000);
});
