import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it, onTestFinished } from "vitest";
import {
  definePlugin,
  type AnyPlugin,
  type Gateway,
  type GatewayConfigInput,
} from "../../core/index.ts";
import { connectClient, setupGateway } from "../../core/testing/index.ts";

/** A server of two tools; each says who it is. */
function twoTools(name: string): AnyPlugin {
  return definePlugin({
    name,
    setup(gateway) {
      for (const tool of ["search_all", "drop"])
        gateway.tool(tool, { description: "", run: () => `${name} ${tool}` });
    },
  });
}

const CONFIG = {
  listeners: { main: { port: 0 }, inner: { port: 0 } },
  endpoints: {
    everything: { path: "/mcp", naming: "server" },
    readers: { path: "/readers/mcp", servers: ["books"], tools: ["search_*"] },
    inside: { path: "/mcp", listener: "inner", servers: ["films"], naming: "none" },
  },
} satisfies GatewayConfigInput;

async function open(gateway: Gateway, name: string): Promise<Client> {
  const { url } = gateway.endpoints.find((endpoint) => endpoint.name === name)!;
  const client = await connectClient(url);
  onTestFinished(() => client.close());
  return client;
}

async function names(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name).toSorted();
}

async function say(client: Client, name: string): Promise<unknown> {
  const { content } = await client.callTool({ name, arguments: {} });
  return (content as { text: string }[])[0]!.text;
}

it("every endpoint shows its own selection under its own names, on the listener it belongs to", async () => {
  const { gateway } = await setupGateway({
    plugins: [twoTools("books"), twoTools("films")],
    client: false,
    config: CONFIG,
  });
  const [everything, readers, inside] = [
    await open(gateway, "everything"),
    await open(gateway, "readers"),
    await open(gateway, "inside"),
  ];
  expect(await names(readers)).toEqual(["search_all"]);
  expect(await names(inside)).toEqual(["drop", "search_all"]);
  const all = await names(everything);
  expect(all).toEqual(["books__drop", "books__search_all", "films__drop", "films__search_all"]);

  expect(await say(readers, "search_all")).toBe("books search_all");
  expect(await say(inside, "search_all")).toBe("films search_all");
  expect(await Promise.all(all.map((name) => say(everything, name)))).toEqual([
    "books drop",
    "books search_all",
    "films drop",
    "films search_all",
  ]);
});

it("what an endpoint does not show cannot be called through it, and a path lives on its own listener only", async () => {
  const { gateway } = await setupGateway({
    plugins: [twoTools("books"), twoTools("films")],
    client: false,
    config: CONFIG,
  });
  const readers = await open(gateway, "readers");
  await expect(readers.callTool({ name: "drop", arguments: {} })).rejects.toThrow(/drop/);
  const inner = gateway.addresses.get("inner")!.url;
  expect((await fetch(`${inner}/readers/mcp`, { method: "POST" })).status).toBe(404);
});

it("a reload that changes one selection tells the clients of that endpoint and leaves the others as they are", async () => {
  const { gateway } = await setupGateway({
    plugins: [twoTools("books"), twoTools("films")],
    client: false,
    config: CONFIG,
  });
  const [readers, inside] = [await open(gateway, "readers"), await open(gateway, "inside")];
  const before = await names(inside);
  const told = new Promise<void>((resolve) =>
    readers.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
  );
  await gateway.apply({
    ...CONFIG,
    endpoints: { ...CONFIG.endpoints, readers: { path: "/readers/mcp", servers: ["films"] } },
    plugins: { books: {}, films: {} },
  });
  await told;
  // The name alone was that of books.
  expect(await names(readers)).toEqual(["drop", "films__search_all"]);
  expect(await say(readers, "drop")).toBe("films drop");
  expect(await names(inside)).toEqual(before);
});
