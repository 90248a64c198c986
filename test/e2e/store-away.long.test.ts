import { z } from "zod";
import { definePlugin } from "propylon";
import { Store } from "propylon/store";
import { expect, it, onTestFinished } from "vitest";
import { fakeUpstream, setupGateway, type TestGateway } from "../../core/testing/index.ts";
import nats from "../../plugins/nats/index.ts";
import postgres from "../../plugins/postgres/index.ts";
import { useServer } from "../plugins/nats/kit.ts";
import { freshSchema, startServer, until } from "../plugins/postgres/kit.ts";
import { storesOf } from "../fixtures/stores.ts";
import { PATIENCE } from "../fixtures/ci.ts";

/** How long the store is away, in milliseconds; and how long it may be so before the gateway is not ready. */
const AWAY_MS = Number(process.env["STORE_AWAY"] ?? 4) * 1_000;
const TOLERANCE_MS = AWAY_MS / 2;
/** How soon everything is equal again, in milliseconds. */
const BACK_MS = PATIENCE * 5_000;

/** A switch as plugins have them: changed in the store first, and read from a copy that follows it. */
const switches = definePlugin({
  name: "switches",
  inject: { store: Store },
  async setup(gateway) {
    const kv = gateway.services.store.kv<number>("switches", { schema: z.number() });
    const copy = gateway.keep("copy", () => new Map<string, number>());
    gateway.route("GET", "/switches", { access: "public", mutates: false }, () =>
      Object.fromEntries(copy),
    );
    gateway.route(
      "POST",
      "/switches/:name/:value",
      { access: "public", mutates: false },
      async (event) => {
        const { name, value } = event.context.params!;
        await kv.put(name!, Number(value));
        return { ok: true };
      },
    );
    gateway.onStart(() =>
      kv.watch("", (key, entry) => {
        if (entry) copy.set(key, entry.value);
        else copy.delete(key);
      }),
    );
  },
});

const STORES = storesOf(
  ["NATS", useServer, () => nats],
  ["PostgreSQL", startServer, () => [postgres, { schema: freshSchema() }] as const],
);

it.each(STORES)(
  `while %s is away for ${AWAY_MS / 1_000} s calls go on and changes are refused; then all is equal`,
  { timeout: PATIENCE * (AWAY_MS + 90_000) },
  async (_, start, plugin) => {
    const server = await start();
    const shop = await fakeUpstream({ find: () => "found" });
    const config = {
      store: server.url,
      servers: { shop: { url: shop.url } },
      timeouts: { store: `${TOLERANCE_MS}ms` },
    };
    const plugins = [plugin(), switches];
    const [first, second] = await Promise.all([
      setupGateway({ plugins, config }),
      setupGateway({ plugins, config }),
    ]);
    const gateways = [first, second];
    expect((await change(first, "a", 1)).status).toBe(200);
    // The gateway that wrote it learns of it from the store, as the other does.
    await until(async () => (await Promise.all(gateways.map(stateOf))).every(({ a }) => a === 1));

    const load = startLoad(gateways);
    // Calls to a closed gateway fail at once, and again, and nothing else would ever run.
    onTestFinished(() => void load.stop());
    const stoppedAt = performance.now();
    await server.kill();
    await until(async () => {
      expect(await (await change(first, "a", 2)).json()).toMatchObject({
        error: { code: "unavailable", hint: expect.any(String) as string },
      });
      return true;
    });
    expect((await change(second, "a", 3)).status).toBe(503);
    expect(await stateOf(first)).toEqual({ a: 1 });
    const { status } = await fetch(`${first.url}/readyz`);
    // A machine with other work may take longer to come here.
    expect(performance.now() - stoppedAt > TOLERANCE_MS ? 200 : status).toBe(200);
    await until(async () => (await fetch(`${first.url}/readyz`)).status === 503, AWAY_MS + 5_000);
    expect(performance.now() - stoppedAt).toBeGreaterThan(TOLERANCE_MS);
    while (performance.now() - stoppedAt < AWAY_MS)
      expect((await change(second, "a", 3)).status).toBe(503);
    expect(await Promise.all(gateways.map(stateOf))).toEqual([{ a: 1 }, { a: 1 }]);

    await server.start();
    const backAt = performance.now();
    await until(async () => (await change(second, "b", 4)).status === 200, BACK_MS);
    await until(async () => (await stateOf(first))["b"] === 4, BACK_MS);
    await until(async () => (await stateOf(second))["b"] === 4, BACK_MS);
    expect(performance.now() - backAt).toBeLessThan(BACK_MS);
    expect(await stateOf(first)).toEqual(await stateOf(second));
    await until(async () => (await fetch(`${first.url}/readyz`)).status === 200, BACK_MS);
    const { calls, failed } = await load.stop();
    expect(calls).toBeGreaterThan(50);
    expect(failed).toEqual([]);
  },
);

function change({ url }: TestGateway, name: string, value: number): Promise<Response> {
  return fetch(`${url}/switches/${name}/${value}`, { method: "POST" });
}

async function stateOf({ url }: TestGateway): Promise<Record<string, number>> {
  return (await (await fetch(`${url}/switches`)).json()) as Record<string, number>;
}

/** Calls through both gateways until it is stopped. */
function startLoad(gateways: readonly TestGateway[]): {
  stop(): Promise<{ calls: number; failed: unknown[] }>;
} {
  const over = new AbortController();
  const failed: unknown[] = [];
  let calls = 0;
  const caller = async ({ client }: TestGateway): Promise<void> => {
    const { tools } = await client.listTools();
    const name = tools.find((tool) => tool.name.includes("find"))!.name;
    for (; !over.signal.aborted; calls++)
      await client
        .callTool({ name, arguments: {} })
        .then((result) => result.isError && failed.push(result))
        .catch((error: unknown) => failed.push(error));
  };
  const working = Promise.all(gateways.map(caller));
  return {
    stop: async () => {
      over.abort();
      await working;
      return { calls, failed };
    },
  };
}
