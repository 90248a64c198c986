import { ServerTypes } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  Answer,
  definePlugin,
  type AnyPlugin,
  type Gateway,
  type PluginContext,
} from "../../../core/index.ts";
import { type ManagedServer, makeCatalogue, StatusTracker } from "../../../core/kit.ts";
import { fakeUpstream, setupGateway } from "../../../core/testing/index.ts";
import a2aClient from "../../../plugins/a2a-client/index.ts";
import rest from "../../../plugins/rest/index.ts";
import { serveHttp } from "../../plugins/servers/support/servers.ts";
import { closing } from "../../plugins/servers/support/use.ts";

const use = closing();

/** A server that says a word once it is let; tells what becomes of it. */
class Speaker implements ManagedServer {
  readonly name: string;
  readonly word: string;
  readonly catalogue = makeCatalogue({
    tools: [{ name: "who", inputSchema: { type: "object" } }],
  });
  readonly standing: StatusTracker;
  isClosed = false;
  finish = (): void => {};

  constructor(name: string, word: string, log: PluginContext["log"]) {
    this.name = name;
    this.word = word;
    this.standing = new StatusTracker({ server: name, transport: "speaker", log });
  }
  get status() {
    return this.standing.status;
  }
  start(): void {
    this.standing.set("connecting", { reason: "it is warming up" });
  }
  async request({ args }: { args?: object | undefined }): Promise<Answer> {
    if (args && "slow" in args) await new Promise<void>((resolve) => (this.finish = resolve));
    return Answer.result({ content: [{ type: "text", text: this.word }] });
  }
  close(): Promise<void> {
    this.isClosed = true;
    this.standing.set("closed", { reason: "it was closed" });
    return Promise.resolve();
  }
  on(listener: Parameters<StatusTracker["on"]>[0]): () => void {
    return this.standing.on(listener);
  }
}

function speakers(): { plugin: AnyPlugin; made: Speaker[] } {
  const made: Speaker[] = [];
  const plugin = definePlugin({
    name: "speakers",
    serverTypes: { speaker: z.strictObject({ word: z.string() }) },
    setup: (gateway) =>
      gateway.add(ServerTypes, {
        type: "speaker",
        create(name, { word }: { word: string }) {
          const speaker = new Speaker(name, word, gateway.log);
          made.push(speaker);
          return speaker;
        },
      }),
  });
  return { plugin: plugin as AnyPlugin, made };
}

const tool = (gateway: Gateway, name: string, args?: object): Promise<unknown> =>
  gateway
    .call({ server: "house", name, ...(args && { args: { ...args } }) })
    .then(({ result }) => (result as { content: { text: string }[] }).content[0]!.text);

async function start(word = "old") {
  const { plugin, made } = speakers();
  const { gateway } = await setupGateway({
    plugins: [plugin],
    config: { servers: { house: { type: "speaker", word } } },
    client: false,
  });
  made[0]!.standing.set("ready");
  const apply = (house: object): Promise<unknown> =>
    gateway.apply({ ...gateway.written, servers: { house: house as never } });
  return { gateway, made, apply, who: () => tool(gateway, "who") };
}

const stateOf = (gateway: Gateway) => gateway.servers.get("house")!.status;

describe("a changed server of a plugin's type", () => {
  it("is served by the one before until it is ready, and that one is closed then", async () => {
    const { gateway, made, apply, who } = await start();
    await apply({ type: "speaker", word: "new" });
    expect([await who(), await who()]).toEqual(["old", "old"]);
    expect(stateOf(gateway).state).toBe("ready");
    expect(made[0]!.isClosed).toBe(false);
    made[1]!.standing.set("ready");
    expect(await who()).toBe("new");
    await expect.poll(() => made[0]!.isClosed).toBe(true);
    // Nothing of the one before is left to be replaced or closed again.
    await apply({ type: "speaker", word: "newest" });
    expect(await who()).toBe("new");
    made[2]!.standing.set("ready");
    expect(await who()).toBe("newest");
    await gateway.close();
    expect(made.map(({ isClosed }) => isClosed)).toEqual([true, true, true]);
  });

  it("takes nothing away where it does not work, and says so", async () => {
    const { gateway, made, apply, who } = await start();
    await apply({ type: "speaker", word: "new" });
    made[1]!.standing.set("backoff", { reason: "the house is locked", attempts: 1 });
    expect(stateOf(gateway)).toMatchObject({
      state: "degraded",
      reason: "The changed entry does not work: the house is locked. The previous one serves on.",
    });
    expect(await who()).toBe("old");
    await apply({ type: "speaker", word: "old again" });
    expect(await who()).toBe("old");
    made[2]!.standing.set("ready");
    expect(await who()).toBe("old again");
    await expect.poll(() => made.map(({ isClosed }) => isClosed)).toEqual([true, true, false]);
  });

  it("takes over when the one before goes away by itself, and both end with the gateway", async () => {
    const { gateway, made, apply, who } = await start();
    await apply({ type: "speaker", word: "new" });
    made[0]!.standing.set("backoff", { reason: "it fell over" });
    expect(stateOf(gateway)).toMatchObject({ state: "connecting", reason: "it is warming up" });
    expect(await who()).toBe("new");
    await apply({ type: "speaker", word: "newest" });
    await gateway.close();
    expect(made.map(({ isClosed }) => isClosed)).toEqual([true, true, true]);
  });

  it("lets a call of the one before end after it took over", async () => {
    const { gateway, made, apply, who } = await start();
    const slow = tool(gateway, "who", { slow: true });
    await apply({ type: "speaker", word: "new" });
    made[1]!.standing.set("ready");
    expect(await who()).toBe("new");
    made[0]!.finish();
    expect(await slow).toBe("old");
  });

  it("may have been, or become, a server that speaks MCP", async () => {
    const { gateway, made, apply, who } = await start();
    const mcp = await fakeUpstream({ who: () => "mcp" });
    await mcp.stop();
    await apply({ url: mcp.url, backoff: { initial: "50ms", max: "100ms" } });
    await expect.poll(() => stateOf(gateway).state).toBe("degraded");
    expect(await who()).toBe("old");
    await mcp.start();
    await expect.poll(who).toBe("mcp");
    await expect.poll(() => made[0]!.isClosed).toBe(true);
    await apply({ type: "speaker", word: "new" });
    expect(await who()).toBe("mcp");
    made[1]!.standing.set("ready");
    expect(await who()).toBe("new");
  });
});

const SPEC = (name: string) => ({
  openapi: "3.1.0",
  info: { title: name, version: "1" },
  servers: [{ url: "/" }],
  paths: { "/who": { get: { operationId: name, responses: { 200: { description: "ok" } } } } },
});

it("type: openapi: a document that is missing takes no tools away", async () => {
  const open: (() => void)[] = [];
  const server = use(
    await serveHttp((req, res) => {
      const send = (value: unknown): void =>
        void res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
      if (req.url === "/new.json") open.push(() => send(SPEC("new")));
      else send(req.url === "/old.json" ? SPEC("old") : "the old answer");
    }),
  );
  const origin = new URL(server.url).origin;
  const entry = (file: string) => ({
    type: "openapi",
    spec: `${origin}/${file}`,
    refreshInterval: 0,
  });
  const { gateway } = await setupGateway({
    plugins: [rest],
    config: { servers: { house: entry("old.json") } },
    client: false,
  });
  await expect.poll(() => stateOf(gateway).state).toBe("ready");
  await gateway.apply({ ...gateway.written, servers: { house: entry("new.json") as never } });
  expect(await tool(gateway, "old")).toContain("the old answer");
  await expect.poll(() => open.length).toBe(1);
  open[0]!();
  await expect.poll(() => tool(gateway, "new")).toContain("the old answer");
});

it("type: a2a: a card that is missing takes no tools away", async () => {
  const card = { name: "a", skills: [{ id: "greet", name: "Greet", description: "", tags: [] }] };
  const server = use(
    await serveHttp((req, res) => {
      if (!req.url!.startsWith("/agent/.well-known")) return void res.writeHead(404).end("{}");
      res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(card));
    }),
  );
  const origin = new URL(server.url).origin;
  const entry = (path: string) =>
    ({ type: "a2a", url: `${origin}/${path}`, dialect: "contract-v1" }) as never;
  const { gateway } = await setupGateway({
    plugins: [a2aClient],
    config: { servers: { house: entry("agent") } },
    client: false,
  });
  await expect.poll(() => stateOf(gateway).state).toBe("ready");
  await gateway.apply({ ...gateway.written, servers: { house: entry("nobody") } });
  await expect.poll(() => stateOf(gateway).state).toBe("degraded");
  expect(stateOf(gateway).reason).toContain("The previous one serves on.");
});
