import { Endpoints, Filters, Listeners, type Point, ServerTypes } from "propylon/kit";
import { expect, it } from "vitest";
import { z } from "zod";
import { definePlugin } from "../../../core/index.ts";
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
  [Listeners, null, 'What plugin "odd" adds to listeners is not an object.'],
  [Listeners, { port: 0 }, 'Plugin "odd" brings a listener without a name.'],
  [Endpoints, "research", 'What plugin "odd" adds to endpoints is not an object.'],
  [ServerTypes, 1, 'What plugin "odd" adds to server-types is not an object.'],
  [Filters, { hides: "lists" }, 'What plugin "odd" adds is not a filter.'],
])("refuses what is none of %o, and says whose it is", async (point, value, message) => {
  const odd = definePlugin({
    name: "odd",
    setup: (gateway) => gateway.add(point as Point, value),
  });
  await expect(setupGateway({ plugins: [odd] })).rejects.toThrow(message);
});
