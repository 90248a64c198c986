import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { definePlugin } from "../../../core/index.ts";
import { freePort, setupGateway, type TestGateway } from "../../../core/testing/index.ts";
import { Store } from "../../../core/store.ts";
import { useServer } from "./kit.ts";

/** A gateway with a tool, and its store as a plugin sees it. */
async function start(
  store: string,
  options: object = {},
): Promise<TestGateway & { readonly store: Store }> {
  let seen: Store | undefined;
  const notes = definePlugin({
    name: "notes",
    inject: { store: Store },
    setup(gateway) {
      seen = gateway.services.store;
      gateway.tool("ping", { description: "Answers.", run: () => "pong" });
    },
  });
  const config = { store, plugins: { nats: { ...options } } };
  const started = await setupGateway({ plugins: [notes], config });
  return { ...started, store: seen! };
}

describe("a gateway whose store is nats://", () => {
  it("keeps what plugins write, and shares it", async () => {
    const { url } = await useServer();
    const [one, two] = [await start(url), await start(url)];
    expect({ shared: one.store.shared, durable: one.store.durable }).toEqual({
      shared: true,
      durable: true,
    });
    await one.store.kv("notes").put("key", "written by one");
    expect((await two.store.kv("notes").get("key"))?.value).toBe("written by one");
    expect(await one.store.replicas()).toHaveLength(2);
    const other = await start(url, { prefix: "other" });
    expect(await other.store.kv("notes").get("key")).toBeUndefined();
    await one.gateway.close();
    const next = await start(url);
    expect((await next.store.kv("notes").get("key"))?.value).toBe("written by one");
  });

  it("answers calls while NATS is away, and refuses only what needs the store", async () => {
    const server = await useServer();
    const { client, store } = await start(server.url);
    await store.kv("notes").put("key", 1);
    await server.kill();
    for (let call = 0; call < 20; call++) {
      const { isError } = await client.callTool({ name: "ping", arguments: {} });
      expect(isError ?? false).toBe(false);
      await expect(store.kv("notes").put("key", 2)).rejects.toMatchObject({ code: "unavailable" });
    }
    await server.start();
    await expect
      .poll(
        () =>
          store
            .kv<number>("notes")
            .put("key", 3)
            .catch(() => 0),
        { timeout: 5_000 },
      )
      .toBeGreaterThan(0);
  });

  it("does not start without NATS, and says why, without the credentials", async () => {
    const port = await freePort();
    const starting = start(`nats://gateway:canary-9b1f@127.0.0.1:${port}`);
    await expect(starting).rejects.toThrow("NATS cannot be reached");
    const error = await starting.catch((thrown: unknown) => thrown);
    expect(inspect(error, { depth: 9 })).not.toContain("canary");
  });
});
