import pino from "pino";
import type { StoreDriver } from "propylon/store";
import { expect, it, onTestFinished } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { storesOf } from "../../fixtures/stores.ts";
import { openDriver as openNats, useServer as startNats } from "../nats/kit.ts";
import { freshSchema, openDriver as openPostgres, startServer } from "../postgres/kit.ts";
import { FakeServer, openSession, post, serve, type Served, text } from "./kit.ts";

/** Restarts of a gateway, and sessions at each; 20 and 100 in the campaign. */
const RESTARTS = Number(process.env["SESSION_RESTARTS"] ?? 3);
const SESSIONS = Number(process.env["RESTART_SESSIONS"] ?? 20);

const WATCHED = "x://watched";
const OTHERS = ["x://a", "x://b"];

const STORES = storesOf(
  [
    "NATS",
    async () => {
      const { url } = await startNats();
      return () => openNats(url);
    },
  ],
  [
    "PostgreSQL",
    async () => {
      const { url } = await startServer();
      const schema = freshSchema();
      return () => openPostgres(url, schema);
    },
  ],
);

interface Replica {
  readonly served: Served;
  readonly store: GatewayStore;
  end(): Promise<void>;
}

async function startReplica(driver: StoreDriver): Promise<Replica> {
  const store = new GatewayStore(driver, pino({ level: "silent" }));
  await store.join();
  const resources = [WATCHED, ...OTHERS].map((uri) => ({ uri, name: uri }));
  const capabilities = { tools: {}, logging: {}, resources: { subscribe: true } };
  const server = new FakeServer("s", { capabilities, resources }).tool("echo", () => text("a"));
  const served = await serve([server], { store: store.scope("mcp") });
  let ended: Promise<void> | undefined;
  const end = (): Promise<void> => (ended ??= served.close().then(() => store.close()));
  onTestFinished(end);
  return { served, store, end };
}

it.each(STORES)(
  "fleet 2: sessions that are written while their gateway is restarted keep what they watch, over %s",
  async (_, start) => {
    const open = await start();
    let [one, two] = [await startReplica(await open()), await startReplica(await open())];
    const ask = (url: URL, headers: Record<string, string>, method: string, params: object) =>
      post(url, { jsonrpc: "2.0", id: 1, method, params }, headers).then(
        ({ status }) => status,
        () => 0,
      );
    const sessions = await Promise.all(
      Array.from({ length: SESSIONS }, () => openSession(one.served.url)),
    );
    for (const headers of sessions)
      expect(await ask(one.served.url, headers, "resources/subscribe", { uri: WATCHED })).toBe(200);
    let done = 0;
    for (let restart = 0; restart < RESTARTS; restart++) {
      let isOver = false;
      const busy = sessions.map(async (headers, index) => {
        for (let step = index; !isOver; step++) {
          const { url } = [one, two][step % 2]!.served;
          const uri = OTHERS[step % OTHERS.length]!;
          const level = ["info", "error", "debug"][step % 3]!;
          const status =
            step % 3 === 0
              ? await ask(url, headers, "logging/setLevel", { level })
              : await ask(url, headers, `resources/${step % 3 === 1 ? "" : "un"}subscribe`, {
                  uri,
                });
          if (status === 200) done++;
        }
      });
      const before = done;
      await expect.poll(() => done - before, { timeout: 30_000 }).toBeGreaterThan(SESSIONS);
      const leaving = one;
      [one, two] = [two, await startReplica(await open())];
      await leaving.end();
      isOver = true;
      await Promise.all(busy);
      const lost: unknown[] = [];
      let found = 0;
      for await (const { value } of two.store
        .scope("mcp")
        .kv<{ subscriptions: string[] }>("sessions")
        .list()) {
        found++;
        if (!value.subscriptions.includes(WATCHED)) lost.push(value);
      }
      expect([found, lost]).toEqual([SESSIONS, []]);
    }
    process.stderr.write(`${RESTARTS * SESSIONS} session-restarts, ${done} writes, 0 lost\n`);
  },
  60_000 + RESTARTS * 20_000,
);
