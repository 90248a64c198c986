import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  connectModernClient,
  fakeUpstream,
  setupGateway,
  type FakeUpstream,
} from "../../../core/testing/index.ts";
import { makeFolder } from "../../kit/folder.ts";

const behind = (shop: FakeUpstream) =>
  setupGateway({ config: { servers: { shop: { url: shop.url } } } });

describe("fakeUpstream", () => {
  it("is a server whose tools a client of either era calls, and remembers what it was asked", async () => {
    const shop = await fakeUpstream({
      price: ({ item }) => `${String(item)}: 3 EUR`,
      stock: {
        description: "Counts.",
        input: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
        run: () => ({ content: [], structuredContent: { left: 4 } }),
      },
    });
    const { client, gateway } = await behind(shop);
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([
      { name: "price" },
      { name: "stock", description: "Counts.", inputSchema: { required: ["item"] } },
    ]);
    const { content } = await client.callTool({ name: "price", arguments: { item: "tea" } });
    expect(content).toEqual([{ type: "text", text: "tea: 3 EUR" }]);
    const modern = await connectModernClient(gateway.endpoints[0]!.url);
    onTestFinished(() => modern.close());
    const stock = await modern.callTool({ name: "stock", arguments: { item: "tea" } });
    expect(stock.structuredContent).toEqual({ left: 4 });
    expect(shop.calls).toMatchObject([
      { tool: "price", args: { item: "tea" } },
      { tool: "stock", args: { item: "tea" }, headers: { "content-type": "application/json" } },
    ]);
  });

  it("fails as a tool does, when its script throws", async () => {
    const shop = await fakeUpstream({
      price: () => {
        throw new Error("closed");
      },
    });
    const { client } = await behind(shop);
    expect(await client.callTool({ name: "price", arguments: {} })).toMatchObject({
      isError: true,
      content: [{ type: "text", text: "closed" }],
    });
  });

  it("is slow when told to, and hears that nobody waits any more", async () => {
    let heard: AbortSignal | undefined;
    const shop = await fakeUpstream({
      price: (_, signal) => {
        heard = signal;
        return "3 EUR";
      },
      wait: (_, signal) =>
        new Promise((resolve) => {
          heard = signal;
          signal.addEventListener("abort", () => resolve("late"));
        }),
    });
    const { client } = await behind(shop);
    shop.delay = 60;
    const began = performance.now();
    await client.callTool({ name: "price", arguments: {} });
    expect(performance.now() - began).toBeGreaterThanOrEqual(59);
    expect(heard?.aborted).toBe(false);
    shop.delay = 0;
    const abort = new AbortController();
    const called = client.callTool({ name: "wait", arguments: {} }, undefined, abort);
    await expect.poll(() => shop.calls.length).toBe(2);
    abort.abort();
    await expect(called).rejects.toThrow(/abort/i);
    await expect.poll(() => heard?.aborted).toBe(true);
  });

  it("goes away and comes back at the same place", async () => {
    const shop = await fakeUpstream({ price: () => "3 EUR" });
    const { client, gateway } = await behind(shop);
    await shop.stop();
    const gone = await client.callTool({ name: "price", arguments: {} }).catch(String);
    expect(JSON.stringify(gone)).not.toContain("3 EUR");
    await shop.start();
    await (await gateway.manage()).reconnect("shop");
    const { content } = await client.callTool({ name: "price", arguments: {} });
    expect(content).toEqual([{ type: "text", text: "3 EUR" }]);
  });
});

describe("setupGateway", () => {
  it("puts every listener of a file on a free port, those that agents and plugins bring too", async () => {
    const folder = makeFolder();
    const file = join(folder, "gateway.yaml");
    await writeFile(
      file,
      `listeners: { main: { port: 1 }, second: { port: 1 } }
plugins:
  registry: { listener: { port: 1 } }
  agents: { providers: { own: { type: openai-compatible, baseUrl: "http://127.0.0.1:1" } } }
agents:
  helper: { model: own/m, instructions: Help., listener: { port: 1 } }
`,
    );
    const both = [
      await setupGateway({ file, client: false }),
      await setupGateway({ file, client: false }),
    ];
    const ports = both.flatMap(({ gateway }) =>
      [...gateway.addresses.values()].map(({ url }) => new URL(url).port),
    );
    expect(new Set(ports).size).toBe(8);
    expect(ports).not.toContain("1");
  });
});
