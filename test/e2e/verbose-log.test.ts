import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { createLogger, definePlugin, GatewayError } from "../../core/index.ts";
import { connectClient, connectModernClient, setupGateway } from "../../core/testing/index.ts";
import gating from "../../plugins/gating/index.ts";
import openapi from "../../plugins/openapi/index.ts";
import { startEcho } from "../contract/kit.ts";

const INPUT = "tool-input-canary";

/** What a tool can do with its input. */
const shop = definePlugin({
  name: "shop",
  setup(gateway) {
    const tool = (name: string, run: () => unknown): void =>
      void gateway.tool(name, {
        description: name,
        input: z.object({ text: z.string(), count: z.number().optional() }),
        run: run as () => string,
      });
    tool("buy", () => "bought");
    tool("fail", () => {
      throw new Error("It failed.");
    });
    tool("refuse", () => {
      throw new GatewayError("forbidden", "Not you.");
    });
    tool("hang", () => new Promise(() => {}));
  },
});

const ARGUMENTS: readonly (readonly [tool: string, args: Record<string, unknown>])[] = [
  ["mine__echo", { text: INPUT }],
  ["mine__echo", { text: { wrong: INPUT } }],
  ["shop__buy", { text: INPUT }],
  ["shop__buy", { text: INPUT, count: INPUT }],
  ["shop__buy", { text: [INPUT], [INPUT]: 1 }],
  ["shop__fail", { text: INPUT }],
  ["shop__refuse", { text: INPUT }],
  ["shop__hang", { text: INPUT }],
  ["shop__gone", { text: INPUT }],
];

it.each(["trace", "debug", "info"] as const)(
  "M121: a log of level %s has a line for each call and the input of none",
  async (level) => {
    const lines: string[] = [];
    const log = await createLogger(
      { level, format: "json" },
      { write: (line) => void lines.push(line) },
    );
    const upstream = await startEcho();
    const { gateway, url } = await setupGateway({
      plugins: [shop, openapi, [gating, { timeouts: { default: "300ms" } }]],
      config: {
        servers: { mine: { url: upstream.url } },
        endpoints: { mcp: { naming: "server" } },
        log: { level },
      },
      client: false,
      log,
    });
    const clients = [
      await connectClient(gateway.endpoints[0]!.url),
      await connectModernClient(gateway.endpoints[0]!.url),
    ];
    onTestFinished(async () => void (await Promise.all(clients.map((client) => client.close()))));
    for (const [name, args] of ARGUMENTS) {
      for (const client of clients)
        await client.callTool({ name, arguments: args }).catch(() => {});
      await post(`${url}/${name.replace("__", "/")}`, JSON.stringify(args));
    }
    await post(`${url}/shop/buy?text=${INPUT}`, `{"text":"${INPUT}`);
    await upstream.close();
    await clients[0]!.callTool({ name: "mine__echo", arguments: { text: INPUT } }).catch(() => {});
    expect(lines.filter((line) => line.includes('"action":"tools/call"')).length).toBeGreaterThan(
      20,
    );
    expect(lines.filter((line) => line.includes(INPUT))).toEqual([]);
  },
);

async function post(url: string, body: string): Promise<void> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body });
  await response.arrayBuffer();
}
