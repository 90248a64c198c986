import { join } from "node:path";
import {
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
} from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import openapi from "../../../plugins/openapi/index.ts";
import sqlite from "../../../plugins/sqlite/index.ts";
import { definePlugin, type ResourceHandle } from "propylon";
import { connectClient, connectModernClient, setupGateway } from "propylon/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { FaultProxy } from "../../fixtures/faults/proxy.ts";
import { makeFolder } from "../../kit/folder.ts";
import { until } from "../../kit/until.ts";

const URI = "films://list";

/** A gateway whose list of tools grows and whose resource changes when told, behind a network with faults. */
async function start(config: object = {}) {
  const held: { film?: ResourceHandle; grow?: () => void } = {};
  const films = definePlugin({
    name: "films",
    setup(gateway) {
      gateway.tool("search", { description: "Searches.", run: () => "found" });
      held.film = gateway.resource("list", { uri: URI, read: () => ({ text: "a film" }) });
      held.grow = () =>
        gateway.tool("more", { description: "Came later.", run: () => "more" }).changed();
    },
  });
  const { gateway, url } = await setupGateway({
    plugins: [films, openapi, sqlite],
    config: { listeners: { main: { port: 0, allowedHosts: ["127.0.0.1"] } }, ...config },
    client: false,
  });
  const proxy = await FaultProxy.start(Number(new URL(url).port));
  onTestFinished(() => proxy.close());
  const far = new URL(`http://127.0.0.1:${proxy.port}/mcp`);
  return { gateway, url, proxy, far, change: () => held.film!.updated(), grow: held.grow! };
}

/** The official client, which opens its stream again as soon as it may. */
async function connect(url: URL, sessionId?: string) {
  const client = new Client({ name: "field", version: "1" });
  const transport = new StreamableHTTPClientTransport(url, {
    ...(sessionId !== undefined && { sessionId }),
    reconnectionOptions: {
      initialReconnectionDelay: 20,
      maxReconnectionDelay: 50,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 1_000,
    },
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, transport };
}

const told = (client: Client): Promise<string> =>
  new Promise((resolve) =>
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) =>
      resolve(params.uri),
    ),
  );

/** Subscribes, and waits until the client has a stream on which it hears. */
async function listenTo(client: Client, change: () => void): Promise<void> {
  let heard = false;
  void told(client).then(() => (heard = true));
  await client.subscribeResource({ uri: URI });
  await until(() => {
    change();
    return heard;
  });
}

describe("a client whose stream was away", () => {
  it.each(["memory", "sqlite"])(
    "mcp-11: hears of the resource that changed meanwhile, with the store %s",
    async (kind) => {
      const folder = makeFolder();
      const store = kind === "memory" ? kind : `sqlite:${join(folder, "g.db")}`;
      const { proxy, far, change } = await start({ store });
      const { client } = await connect(far);
      await listenTo(client, change);
      const updated = told(client);
      proxy.refuse();
      proxy.cut();
      await until(() => proxy.connections === 0);
      change();
      proxy.heal();
      expect(await updated).toBe(URI);
    },
  );

  it("mcp-11: hears of the list that changed meanwhile", async () => {
    const { proxy, far, change, grow } = await start();
    const { client } = await connect(far);
    await listenTo(client, change);
    const changed = new Promise<void>((resolve) =>
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
    );
    await client.listTools();
    proxy.refuse();
    proxy.cut();
    await until(() => proxy.connections === 0);
    grow();
    proxy.heal();
    await changed;
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["search", "more"]);
  });
});

describe("a client whose old stream is only half gone", () => {
  /** The client comes back on another way, while the gateway still believes the old one. */
  const comeBack = async () => {
    const started = await start();
    const first = await connect(started.far);
    await listenTo(first.client, started.change);
    started.proxy.partition();
    const second = await connect(new URL(`${started.url}/mcp`), first.transport.sessionId);
    return { ...started, second: second.client };
  };
  // What the SDK says at the end of a handshake, whereupon it opens its stream.
  const openStream = (client: Client) =>
    client.notification({ method: "notifications/initialized" });

  it("mcp-12: hears on its new stream of lists that change", async () => {
    const { second, grow } = await comeBack();
    const changed = new Promise<string>((resolve) =>
      second.setNotificationHandler(ToolListChangedNotificationSchema, ({ method }) =>
        resolve(method),
      ),
    );
    await openStream(second);
    await second.ping();
    grow();
    expect(await changed).toBe("notifications/tools/list_changed");
  });

  it("mcp-12: hears on its new stream of what it watches", async () => {
    const { second, change } = await comeBack();
    const updated = told(second);
    await openStream(second);
    await second.ping();
    change();
    expect(await updated).toBe(URI);
  });

  it("mcp-12: calls go on in its session", async () => {
    const { second } = await comeBack();
    expect((await second.callTool({ name: "search" })).content).toMatchObject([{ text: "found" }]);
  });
});

describe("a client that looks for a login where none is", () => {
  it("mcp-13: finds none, as without the plugin openapi", async () => {
    const { url } = await start();
    expect(await discoverAuthorizationServerMetadata(new URL(url))).toBeUndefined();
    await expect(discoverOAuthProtectedResourceMetadata(`${url}/mcp`)).rejects.toThrow(
      "does not implement OAuth 2.0 Protected Resource Metadata",
    );
    const response = await fetch(`${url}/.well-known/openid-configuration`);
    expect([response.status, response.headers.get("allow")]).toEqual([404, null]);
  });
});

describe("an endpoint that is written with a slash at its end", () => {
  it("mcp-21: is connected to by the official client of older revisions", async () => {
    const { url } = await start();
    const client = await connectClient(`${url}/mcp/`);
    onTestFinished(() => client.close());
    expect((await client.callTool({ name: "search" })).content).toMatchObject([{ text: "found" }]);
  });

  it("mcp-21: is connected to by the official client of the newest revision", async () => {
    const { url } = await start();
    const client = await connectModernClient(`${url}/mcp/`);
    onTestFinished(() => client.close());
    expect((await client.callTool({ name: "search" })).content).toMatchObject([{ text: "found" }]);
  });

  it("mcp-21: tells a client with a session of changes, at either spelling", async () => {
    const { url, grow } = await start();
    const { client } = await connect(new URL(`${url}/mcp/`));
    const changed = new Promise<void>((resolve) =>
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
    );
    await client.listTools();
    await client.ping();
    grow();
    await changed;
    expect((await client.listTools()).tools).toHaveLength(2);
  });
});
