import { expect, it, onTestFinished } from "vitest";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { legacyClient, sdk2Client } from "../mcp/kit.ts";
import { until } from "../../kit/until.ts";
import { serveEverything, setupGating, whenListed, type Gated } from "./kit.ts";

const off = (server: string, tool?: string) => [
  { server, ...(tool !== undefined && { tool }), enabled: false },
];

async function start() {
  const upstream = await serveEverything();
  const gated = await setupGating({}, { servers: { house: { url: upstream.url } } });
  await whenListed(gated.gateway, "house");
  return { upstream, gated };
}

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "fine",
    (error: { code: unknown; data?: { code?: unknown } }) => error.data?.code ?? error.code,
  );

/** Every way to use the server, through one client of each era and as an agent does. */
async function faces({ gateway }: Gated) {
  const url = new URL(gateway.endpoints[0]!.url);
  const old = await legacyClient(url);
  const modern = await sdk2Client(url, "modern");
  const oldEra = await sdk2Client(url, "legacy");
  onTestFinished(async () => void (await Promise.all([old, modern, oldEra].map((c) => c.close()))));
  const agent = (name: string) => gateway.call({ server: "house", name, source: "agent" });
  return { clients: [old, oldEra, modern] as const, agent };
}

it("M018, M045, M048, M050, M090, M091, M137: a disabled tool is refused on every face before any byte reaches its server, its neighbour is not", async () => {
  const { upstream, gated } = await start();
  const { clients, agent } = await faces(gated);
  for (const client of clients)
    expect(await client.callTool({ name: "alpha", arguments: {} })).toMatchObject({
      content: [{ text: "alpha" }],
    });
  await gated.service.set(off("house", "alpha"), "tester");
  const before = upstream.requests.length;
  for (const client of clients)
    expect(await codeOf(client.callTool({ name: "alpha", arguments: {} }))).toBe("disabled");
  await expect(agent("alpha")).rejects.toMatchObject({
    code: "disabled",
    status: 403,
    data: { server: "house", tool: "alpha" },
  });
  expect(upstream.requests.length).toBe(before);
  for (const client of clients)
    expect(await client.callTool({ name: "beta", arguments: {} })).toMatchObject({
      content: [{ text: "beta" }],
    });
  expect((await agent("beta")).isError).toBe(false);
});

it("M049: a disabled server refuses every method, prompts, resources and completion included, under its config key", async () => {
  const { upstream, gated } = await start();
  const { clients, agent } = await faces(gated);
  const uses = clients.map(
    (client) =>
      [
        () => client.callTool({ name: "beta", arguments: {} }),
        () => client.readResource({ uri: "note://one" }),
        () => client.getPrompt({ name: "ask", arguments: { word: "x" } }),
        () =>
          client.complete({
            ref: { type: "ref/prompt", name: "ask" },
            argument: { name: "word", value: "y" },
          }),
      ] as const,
  );
  for (const use of uses.flat()) expect(await codeOf(use())).toBe("fine");
  expect(gated.gateway.servers.get("house")?.catalogue.serverInfo?.["name"]).toBe("old");
  await gated.service.set(off("house"), "tester");
  const before = upstream.requests.length;
  for (const use of uses.flat()) expect(await codeOf(use())).toBe("disabled");
  await expect(agent("beta")).rejects.toMatchObject({
    code: "disabled",
    data: { server: "house" },
  });
  expect(upstream.requests.length).toBe(before);
  await gated.service.set([{ server: "house", enabled: true }], "tester");
  for (const use of uses.flat()) expect(await codeOf(use())).toBe("fine");
});

it("M016, M045: what is off is in no list, and comes back; clients are told once", async () => {
  const { gated } = await start();
  const { clients } = await faces(gated);
  let told = 0;
  clients[0].setNotificationHandler(ToolListChangedNotificationSchema, () => void told++);
  const names = async (client: (typeof clients)[number]) =>
    (await client.listTools()).tools.map(({ name }) => name);
  await gated.service.set(
    [
      ...off("house", "alpha"),
      ...off("house", "beta"),
      { server: "house", tool: "beta", enabled: true },
    ],
    "tester",
  );
  for (const client of clients) {
    await until(async () => (await names(client)).join() === "beta");
    expect((await client.listPrompts()).prompts).toHaveLength(1);
  }
  await until(() => told > 0);
  expect(told).toBe(1);
  await gated.service.set(off("house"), "tester");
  for (const client of clients) {
    await until(async () => (await names(client)).length === 0);
    expect((await client.listPrompts()).prompts).toEqual([]);
    expect((await client.listResources()).resources).toEqual([]);
  }
  await gated.service.set(
    [
      { server: "house", enabled: true },
      { server: "house", tool: "alpha", enabled: true },
    ],
    "tester",
  );
  for (const client of clients)
    await until(async () => (await names(client)).join() === "alpha,beta");
});

it("M098, M051: flags outlive reconnects, reloads of the config and of the plugin", async () => {
  const { gated } = await start();
  await gated.service.set(off("house", "alpha"), "tester");
  const refused = () => codeOf(gated.gateway.call({ server: "house", name: "alpha" }));
  await gated.gateway.servers.get("house")!.reconnect!();
  expect(await refused()).toBe("disabled");
  await gated.apply();
  expect(await refused()).toBe("disabled");
  await gated.apply({ timeouts: { max: "60s" } });
  expect(await refused()).toBe("disabled");
  expect(gated.service.isToolEnabled("house", "alpha")).toBe(false);
  expect(gated.service.isToolEnabled("house", "beta")).toBe(true);
});

it("setting what is set changes nothing and tells nobody; each change is told once, with its author", async () => {
  const { gated } = await start();
  expect(await gated.service.set(off("house"), "eve")).toEqual(off("house"));
  expect(await gated.service.set(off("house"), "eve")).toEqual([]);
  expect(gated.changes).toEqual([{ server: "house", enabled: false, by: "eve" }]);
});

it("refuses flags of what does not exist, all or none", async () => {
  const { gated } = await start();
  await expect(gated.service.set([...off("house"), ...off("nowhere")], "x")).rejects.toMatchObject({
    code: "not_found",
    data: { server: "nowhere" },
  });
  await expect(gated.service.set(off("house", "gamma"), "x")).rejects.toMatchObject({
    code: "not_found",
    data: { server: "house", tool: "gamma" },
  });
  expect(gated.service.isServerEnabled("house")).toBe(true);
  expect(gated.changes).toEqual([]);
});
