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
    gateway.extend({
      listeners: { own: { port: 0 } },
      endpoints: { research: { path, listener: "own", servers: ["team"], naming: "none" } },
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
