import { Endpoints, Filters, Listeners, type Point, ServerTypes } from "propylon/kit";
import { expect, it } from "vitest";
import { z } from "zod";
import { type AnyPlugin, definePlugin, type PluginContext } from "../../../core/index.ts";
import { connectClient, setupGateway } from "../../../core/testing/index.ts";

const team = definePlugin({
  name: "team",
  config: z.strictObject({ path: z.string().default("/mcp") }),
  setup(gateway) {
    gateway.tool("greet", { description: "Greets.", run: () => "hi" });
    const { path } = gateway.config;
    gateway.add(Listeners, { name: "own", port: 0 });
    gateway.add(Endpoints, {
      name: "research",
      path,
      listener: "own",
      servers: ["team"],
      naming: "none",
    });
    gateway.route(
      "GET",
      "/here",
      { access: "public", mutates: false, listener: "own" },
      () => "yes",
    );
  },
});

it("P006: a plugin brings a listener and an MCP endpoint of its own, and both go with it", async () => {
  const { gateway } = await setupGateway({ plugins: [team] });
  const { url } = gateway.addresses.get("own")!;
  const client = await connectClient(`${url}/mcp`);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["greet"]);
  await client.close();
  expect(await (await fetch(`${url}/here`)).text()).toBe("yes");
  await gateway.apply({ listeners: { main: { port: 0 } }, plugins: {} });
  expect([...gateway.addresses.keys()]).toEqual(["main"]);
  // Who had connected before is still answered.
  const answer = (): Promise<unknown> => fetch(`${url}/here`).then(({ status }) => status, String);
  await expect.poll(answer).toBe("TypeError: fetch failed");
});

it("keeps the listener of a plugin open through reloads, with another path for its endpoint", async () => {
  const { gateway } = await setupGateway({ plugins: [team] });
  const { url } = gateway.addresses.get("own")!;
  await gateway.apply({
    ...gateway.written,
    listeners: { main: { port: 0 } },
    endpoints: {},
    plugins: { team: { path: "/other" } },
  });
  expect(gateway.addresses.get("own")!.url).toBe(url);
  const client = await connectClient(`${url}/other`);
  expect((await client.listTools()).tools).toHaveLength(1);
  await client.close();
});

it("names both sides when a name is taken", async () => {
  const { gateway } = await setupGateway({ plugins: [team], client: false });
  await expect(
    gateway.apply({ listeners: { own: { port: 0 } }, plugins: { team: {} } }),
  ).rejects.toThrow(/Plugin "team" brings the listener "own", which the config has already/);
});

it.each([
  [Listeners, null, "adds to listeners what cannot be used: it is not an object."],
  [
    Listeners,
    { port: 0 },
    "adds to listeners what cannot be used: it has no name that can be used.",
  ],
  [
    Listeners,
    { ["__proto__" as string]: 1, name: "__proto__" },
    "it has no name that can be used.",
  ],
  [Listeners, function inside() {}, "adds to listeners what cannot be used: it is not an object."],
  [Endpoints, "research", "adds to endpoints what cannot be used: it is not an object."],
  [ServerTypes, 1, "adds to server-types what cannot be used: it is not an object."],
  [ServerTypes, { type: "card" }, "it has no type or no function create."],
  [Filters, { hides: "lists" }, 'What plugin "odd" adds is not a filter.'],
  [Filters, { shows: () => true, viewOf: null }, 'What plugin "odd" adds is not a filter.'],
])("refuses what is none of %o, and says whose it is", async (point, value, message) => {
  const odd = definePlugin({ name: "odd", setup: (gateway) => gateway.add(point as Point, value) });
  const error = await setupGateway({ plugins: [odd] }).then(() => expect.unreachable(), String);
  expect(error).toContain('lugin "odd" adds');
  expect(error).toContain(message);
});

it("keeps from plugins what others add there", async () => {
  const { plugin, context } = spying();
  await setupGateway({ plugins: [plugin, team] });
  for (const point of [Filters, Listeners, Endpoints, ServerTypes])
    expect(() => context().point(point as Point)).toThrow(
      `Only the gateway reads what is added to ${point.id}.`,
    );
});

/** A plugin whose context can be had afterwards. */
function spying(): { plugin: AnyPlugin; context: () => PluginContext } {
  let kept: PluginContext | undefined;
  const plugin = definePlugin({ name: "spy", setup: (gateway) => void (kept = gateway) });
  return { plugin, context: () => kept! };
}

const late = (() => Promise.reject(new Error("late"))) as never;

it.each([
  ["shows, for all", { shows: late }],
  ["shows, by principal", { shows: late, viewOf: () => "all" }],
  ["viewOf", { shows: () => true, viewOf: late }],
])("hides what a filter answers by a promise: %s", async (_, filter) => {
  const slow = definePlugin({ name: "slow", setup: (gateway) => gateway.add(Filters, filter) });
  const { client } = await setupGateway({ plugins: [team, slow] });
  expect((await client.listTools()).tools).toEqual([]);
});
