import { definePlugin, configSchema, createLogger } from "propylon";
import { EventKinds } from "propylon/kit";
import { expect, it } from "vitest";
import { z } from "zod";
import { setupGateway, type PluginEntry } from "../../../core/testing/index.ts";
import admin from "../../../plugins/admin/index.ts";
import events from "../../../plugins/events/index.ts";
import gating, { Gating, type GatingService } from "../../../plugins/gating/index.ts";
import history from "../../../plugins/history/index.ts";
import nats from "../../../plugins/nats/index.ts";
import postgres from "../../../plugins/postgres/index.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { storesOf } from "../../fixtures/stores.ts";
import { until } from "../../kit/until.ts";
import { useServer as startNats } from "../nats/kit.ts";
import { freshSchema, startServer } from "../postgres/kit.ts";
import { readSse, TRANSPORTS, type Reader } from "./readers.ts";

declare module "propylon" {
  interface GatewayHooks {
    test_step: (news: { readonly step: number }) => void;
    test_row: (news: { readonly row: number }) => void;
  }
}

/** How often a reader moves to another gateway; 1,000 times in the campaign. */
const MOVES = Number(process.env["EVENT_MOVES"] ?? 20);

const STORES = storesOf(
  ["NATS", startNats, () => nats],
  ["PostgreSQL", startServer, () => [postgres, { schema: freshSchema() }] as const],
);

/** A gateway of a fleet, with what it says and switches. */
async function startOne(store: string, driver: PluginEntry) {
  let emit!: (step: number) => void;
  let seeRow!: (row: number) => void;
  let flags!: GatingService;
  let say!: (words: string) => void;
  const walker = definePlugin({
    name: "walker",
    inject: { flags: Gating },
    setup(gateway) {
      gateway.add(EventKinds, {
        kind: "test_step",
        description: "A step was made.",
        access: "viewer",
        data: z.strictObject({ step: z.int() }),
      });
      gateway.add(EventKinds, {
        kind: "test_row",
        description: "Every gateway sees a row.",
        access: "viewer",
        data: z.strictObject({ row: z.int() }),
        once: "row",
      });
      emit = (step) => gateway.emit("test_step", { step });
      seeRow = (row) => gateway.emit("test_row", { row });
      flags = gateway.services.flags;
      gateway.tool("walk", { description: "Walks.", run: () => "left" });
      gateway.tool("stroll", {
        description: "Walks until it is stopped.",
        run: (_args, { signal }) =>
          new Promise((resolve) => signal.addEventListener("abort", () => resolve("home"))),
      });
      say = (words) => gateway.log.warn(words);
    },
  });
  const started = await setupGateway({
    plugins: [driver, events, gating, walker, admin, history],
    config: { store, management: { mutations: true } },
    log: await createLogger(configSchema.parse({}).log, { write: () => {} }),
    client: false,
  });
  return { ...started, emit, seeRow, flags, say };
}

const stepsOf = (reader: Reader): number[] =>
  reader.told("test_step").map((news) => news["step"] as number);
const lastIdOf = (reader: Reader): string | undefined =>
  reader.events.findLast(({ id }) => id !== undefined)?.id;
/** Data of what was missed, and of what other kinds there are besides. */
const gapsOf = (reader: Reader): readonly object[] => reader.told("gap");

it.each(STORES)(
  "of three gateways on one %s every reader is told every event once, in one order, however often it moves",
  { timeout: PATIENCE * (60_000 + MOVES * 500) },
  async (_name, start, driver) => {
    const server = await start();
    const plugin = driver();
    const fleet: Awaited<ReturnType<typeof startOne>>[] = [];
    for (let each = 0; each < 3; each++) fleet.push(await startOne(server.url, plugin));
    const stays = await readSse(fleet[0]!.url);
    let moving = await readSse(fleet[1]!.url);
    const seen: number[] = [];
    const gaps: object[] = [];
    for (let step = 0; step < MOVES; step++) {
      fleet[step % 3]!.emit(step);
      // Half of the moves are made while the event is on its way.
      if (step % 2 === 0) await until(() => stepsOf(stays).includes(step));
      const headers = { "last-event-id": lastIdOf(moving)! };
      moving.close();
      seen.push(...stepsOf(moving));
      gaps.push(...gapsOf(moving));
      const transport = TRANSPORTS[step % 2]![1];
      const query = `lastEventId=${headers["last-event-id"]}`;
      moving = await transport(fleet[(step * 7 + 1) % 3]!.url, { query });
    }
    await until(() => stepsOf(stays).length === MOVES);
    await until(() => seen.length + stepsOf(moving).length >= MOVES);
    expect([...seen, ...stepsOf(moving)]).toEqual(stepsOf(stays));
    expect(new Set(stepsOf(stays)).size).toBe(MOVES);
    expect([...gaps, ...gapsOf(moving)]).toEqual([]);
    const { replica, step } = stays.told("test_step")[0]!;
    expect({ step, isNamed: typeof replica }).toEqual({ step: 0, isNamed: "string" });
    moving.close();
    stays.close();

    // A switch and a row are told once, although it counts at each of them.
    const reader = await readSse(fleet[2]!.url);
    await fleet[0]!.flags.set([{ server: "walker", tool: "walk", enabled: false }], "key:ci");
    await until(() => !fleet[2]!.flags.isToolEnabled("walker", "walk"));
    await until(() => !fleet[1]!.flags.isToolEnabled("walker", "walk"));
    for (const row of [1, 2]) for (const each of fleet) each.seeRow(row);
    fleet[1]!.emit(-1);
    await until(() => stepsOf(reader).includes(-1));
    expect(reader.told("state_changed")).toHaveLength(1);
    await until(() => reader.told("test_row").length > 1);
    const { data } = await reader.find("hello");

    // One that comes later has read what was told before.
    const late = await startOne(server.url, plugin);
    const resumed = await readSse(late.url, { query: `lastEventId=${data.lastId}` });
    await until(() => stepsOf(resumed).includes(-1));
    expect(resumed.told("state_changed")).toHaveLength(1);
    expect(resumed.told("test_row").map(({ row }) => row)).toEqual([1, 2]);
    expect(gapsOf(resumed)).toEqual([]);
    // An id that nobody gave is no place to go on from.
    const [epoch] = data.lastId.split("-");
    const forged = await readSse(late.url, { query: `lastEventId=${epoch}-99999999` });
    await forged.find("gap");
    late.emit(-2);
    await until(() => stepsOf(forged).includes(-2));
    expect(gapsOf(forged)).toMatchObject([{ reason: "unknown" }]);
  },
);

it.each(STORES)(
  "gateways of one %s show calls, ends of calls, progress and log lines of each other, and end each other's calls",
  { timeout: PATIENCE * 60_000 },
  async (_name, start, driver) => {
    const server = await start();
    const plugin = driver();
    const [one, two] = [await startOne(server.url, plugin), await startOne(server.url, plugin)];
    const ask = async (at: typeof one, path: string, method = "GET", body?: object) => {
      const headers = { "content-type": "application/json" };
      const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
      const response = await fetch(`${at.url}/_meta${path}`, init);
      // eslint-disable-next-line typescript/no-explicit-any -- bodies of all shapes
      return (await response.json()) as any;
    };
    const call = (at: typeof one, tool: string) =>
      ask(at, "/calls", "POST", { server: "walker", tool });
    const reader = await readSse(two.url, { query: "kinds=call_end,progress,log&level=warn" });
    const plain = await readSse(two.url);
    await reader.find("hello");
    // It is fetched only while somebody reads it, and from then on.
    await until(async () => {
      await call(one, "walk");
      return reader.told("call_end").length > 0;
    });
    one.say("It rains.");
    await until(() => reader.told("log").length > 0);
    const { replica: id } = reader.told("call_end")[0]!;
    expect(reader.told("log")).toEqual([
      { at: expect.any(String), replica: id, line: expect.objectContaining({ msg: "It rains." }) },
    ]);
    const phases = reader.told("progress").map(({ replica, phase }) => [replica, phase]);
    expect(phases.slice(-2)).toEqual([
      [id, "start"],
      [id, "end"],
    ]);
    expect(new Set(reader.told("call_end").map((end) => end["call"])).size).toBe(
      reader.told("call_end").length,
    );
    expect(plain.told("call_end")).toEqual([]);

    const strolls = [call(one, "stroll"), call(two, "stroll")];
    const listed = await until(async () => {
      const list = await ask(two, "/calls");
      return list.total === 2 && list;
    });
    expect(listed).toMatchObject({ ok: true, total: 2, complete: true, next: null });
    const there = listed.calls.find((each: { replica: string }) => each.replica === id);
    expect(there).toMatchObject({ server: "walker", name: "stroll" });
    const first = await ask(two, "/calls?limit=1");
    const second = await ask(one, `/calls?limit=1&after=${first.next}`);
    expect([...first.calls, ...second.calls].map((each: { id: string }) => each.id)).toEqual(
      listed.calls.map((each: { id: string }) => each.id),
    );
    expect(second.next).toBeNull();
    for (const { id: each } of listed.calls)
      expect(await ask(two, `/calls/${each}`, "DELETE")).toEqual({ ok: true, id: each });
    expect(await ask(two, `/calls/${there.id}`, "DELETE")).toMatchObject({
      error: { code: "not_found" },
    });
    await Promise.all(strolls);
    const shown = await until(async () => {
      const { entries } = await ask(two, "/history?tool=stroll");
      return entries.length === 2 && entries;
    });
    const byCall = new Map(
      shown.map((entry: { id: string; replica: string }) => [entry.id, entry.replica]),
    );
    for (const each of listed.calls) expect(byCall.get(each.id)).toBe(each.replica);
  },
);
