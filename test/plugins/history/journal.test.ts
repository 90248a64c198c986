import { describe, expect, it } from "vitest";
import history from "propylon/plugins/history";
import { definePlugin, type Gateway } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { deferred } from "../../kit/deferred.ts";
import { until } from "../../kit/until.ts";

const notes = definePlugin({
  name: "local",
  setup(gateway) {
    gateway.tool("note", {
      description: "Notes.",
      input: { type: "object" },
      run: () => "noted ✓",
    });
  },
});

interface Shown {
  readonly id: string;
  readonly arguments: { readonly n: number };
  readonly result: unknown;
}

async function start(kept: KeptStore, options: Record<string, unknown> = {}) {
  const { gateway, url } = await setupGateway({
    plugins: [kept.plugin, notes, [history, options]],
    config: { store: "kept", management: { mutations: true } },
    client: false,
  });
  const list = async (query = ""): Promise<Shown[]> => {
    const response = await fetch(`${url}/_meta/history${query}`);
    return ((await response.json()) as { entries: Shown[] }).entries;
  };
  const clear = () => fetch(`${url}/_meta/history`, { method: "DELETE" });
  return { gateway, url, list, clear };
}

const call = (gateway: Gateway, n: number) =>
  gateway.call({ server: "local", name: "note", args: { n } });

async function calls(gateway: Gateway, from: number, to: number): Promise<void> {
  for (let n = from; n < to; n++) await call(gateway, n);
}

const stored = (kept: KeptStore) => kept.driver.read("history/calls", 0, 100_000);

const numbersOf = (entries: readonly Shown[]) => entries.map(({ arguments: { n } }) => n);

describe("history of several gateways", () => {
  it("each shows the calls of all, page by page at any of them, those of a dead one too", async () => {
    const kept = new KeptStore({ shared: true });
    const fleet = [await start(kept), await start(kept), await start(kept)] as const;
    for (let n = 0; n < 12; n++) {
      await call(fleet[n % 3]!.gateway, n);
      // Each writes what it has when it is asked: calls of different gateways come in their order.
      await fleet[n % 3]!.list();
    }
    const all = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];
    for (const { list } of fleet) expect(numbersOf(await list())).toEqual(all);
    await fleet[0].gateway.close();
    const seen: number[] = [];
    let cursor: string | null = "";
    for (let page = 0; cursor !== null; page++) {
      const { url } = fleet[1 + (page % 2)]!;
      const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const answer = await fetch(`${url}/_meta/history?limit=5${query}`);
      const { entries, next } = (await answer.json()) as { entries: Shown[]; next: string | null };
      seen.push(...numbersOf(entries));
      cursor = next;
      await call(fleet[1].gateway, 100 + page);
    }
    expect(seen).toEqual(all);
    const [newest] = await fleet[2].list();
    const one = await fetch(`${fleet[1].url}/_meta/history/${newest!.id}`);
    expect(await one.json()).toMatchObject({ entry: { id: newest!.id } });
  });

  it("calls that an earlier version wrote have today's outcomes, and are found by both names", async () => {
    const kept = new KeptStore({ shared: true });
    const first = await start(kept);
    await call(first.gateway, 0);
    await first.gateway.close();
    const earlier = [
      ["a", "transport_error", "timeout", "timed_out"],
      ["b", "transport_error", "upstream_error", "unreachable"],
      ["c", "transport_error", "circuit_open", "unreachable"],
      ["d", "transport_error", "cancelled", "cancelled"],
      ["e", "transport_error", "internal", "tool_error"],
      ["f", "rpc_error", "-32602", "tool_error"],
    ] as const;
    const [{ value } = { value: "" }] = await stored(kept);
    const [head, ...rest] = (JSON.parse(value.slice("1:".length)) as string).split("\n");
    const members = JSON.parse(head!) as unknown[];
    const records = earlier.map(([id, outcome, code]) => {
      const written = JSON.stringify(members.with(0, id).with(7, outcome).with(8, code));
      return `1:${JSON.stringify([written, ...rest].join("\n"))}`;
    });
    await kept.driver.append("history/calls", records);
    const { list } = await start(kept);
    const found = async (query: string): Promise<string> =>
      (await list(query))
        .map(({ id }) => id)
        .filter((id) => id.length === 1)
        .toReversed()
        .join("");
    const shown = (await list()) as unknown as { id: string; outcome: string; code: string }[];
    const ends = shown.map(({ id, outcome, code }) => [id, outcome, code]);
    for (const [id, , code, now] of earlier) expect(ends).toContainEqual([id, now, code]);
    expect(await found("?outcome=timed_out")).toBe("a");
    expect(await found("?outcome=unreachable")).toBe("bc");
    expect(await found("?outcome=tool_error")).toBe("ef");
    expect(await found("?outcome=failed")).toBe("abcef");
    expect(await found("?outcome=transport_error")).toBe("abce");
    expect(await found("?outcome=rpc_error")).toBe("f");
  });

  it("what one forgets nobody shows any more; while the store is away each shows its own", async () => {
    const kept = new KeptStore({ shared: true });
    const [here, there] = [await start(kept), await start(kept)];
    await calls(here.gateway, 0, 3);
    await calls(there.gateway, 3, 5);
    for (const { list } of [here, there]) await until(async () => (await list()).length === 5);
    expect(await (await here.clear()).json()).toEqual({ ok: true, cleared: 5 });
    expect(await there.list()).toEqual([]);
    await call(there.gateway, 6);
    kept.isAway = true;
    await call(here.gateway, 5);
    expect(numbersOf(await here.list())).toEqual([5]);
    expect(numbersOf(await there.list())).toEqual([6]);
    kept.isAway = false;
    await until(async () => (await here.list()).length === 2 && (await there.list()).length === 2);
  });

  it("is shown while each write takes as long as the next calls do", async () => {
    const kept = new KeptStore({ shared: true });
    const { gateway, list } = await start(kept);
    const append = kept.driver.append.bind(kept.driver);
    let [writes, n] = [0, 1];
    kept.driver.append = async (...entries) => {
      // Calls never cease, but for the end of this test.
      if (entries[0] === "history/calls" && writes++ < 500) {
        await calls(gateway, n, (n += 3));
        await new Promise((resolve) => void setImmediate(resolve));
      }
      return append(...entries);
    };
    await call(gateway, 0);
    expect((await list("?limit=1000")).length).toBeGreaterThan(0);
    expect(writes).toBeLessThan(10);
  });
});

describe("history in a durable store", () => {
  it("is there after a shutdown, before what came since", async () => {
    const kept = new KeptStore();
    const first = await start(kept);
    await calls(first.gateway, 0, 5);
    const before = await first.list();
    await first.gateway.close();
    const second = await start(kept);
    await calls(second.gateway, 5, 7);
    expect(numbersOf(await second.list())).toEqual([6, 5, 4, 3, 2, 1, 0]);
    expect((await second.list()).slice(2)).toEqual(before);
    const one = await fetch(`${second.url}/_meta/history/${before[0]!.id}`);
    expect(await one.json()).toMatchObject({ entry: before[0] });
    expect(before[0]!.result).toMatchObject({ content: [{ text: "noted ✓" }] });
  });

  it("is written within a moment, so a kill loses no more", async () => {
    const kept = new KeptStore();
    const first = await start(kept);
    await calls(first.gateway, 0, 3);
    await until(async () => (await stored(kept)).length === 3);
    const second = await start(kept);
    expect(numbersOf(await second.list())).toEqual([2, 1, 0]);
  });

  it("is written, and shown once and in order, while what earlier processes wrote is still read", async () => {
    const kept = new KeptStore();
    const first = await start(kept);
    await calls(first.gateway, 0, 150);
    await first.gateway.close();
    const gate = deferred();
    const read = kept.driver.read.bind(kept.driver);
    kept.driver.read = async (...asked) => {
      if (asked[0] === "history/calls") await gate.promise;
      return read(...asked);
    };
    const second = await start(kept);
    await calls(second.gateway, 150, 153);
    const written = () => read("history/calls", 0, 1_000);
    await until(async () => (await written()).length === 153);
    const shown = second.list("?limit=1000");
    await calls(second.gateway, 153, 156);
    gate.resolve();
    await shown;
    const all = Array.from({ length: 156 }, (_, index) => 155 - index);
    expect(numbersOf(await second.list("?limit=1000"))).toEqual(all);
    await until(async () => (await written()).length === 156);
  });

  it("of now is shown where that of earlier processes cannot be read, and is written once", async () => {
    const kept = new KeptStore();
    const first = await start(kept);
    await calls(first.gateway, 0, 3);
    await first.gateway.close();
    const gate = deferred<never>();
    const read = kept.driver.read.bind(kept.driver);
    kept.driver.read = (...asked) => (asked[0] === "history/calls" ? gate.promise : read(...asked));
    const second = await start(kept);
    await calls(second.gateway, 3, 6);
    const written = () => read("history/calls", 0, 1_000);
    await until(async () => (await written()).length === 6);
    await calls(second.gateway, 6, 8);
    gate.reject(new Error("away"));
    await until(async () => (await written()).length === 8);
    expect(numbersOf(await second.list())).toEqual([7, 6, 5, 4, 3]);
    kept.driver.read = read;
    const third = await start(kept);
    expect(numbersOf(await third.list())).toEqual([7, 6, 5, 4, 3, 2, 1, 0]);
  });

  it("is as long as the options say, and a record that cannot be read harms nothing", async () => {
    const kept = new KeptStore();
    const first = await start(kept, { maxEntries: 50 });
    await calls(first.gateway, 0, 120);
    await first.gateway.close();
    expect((await stored(kept)).length).toBeLessThanOrEqual(55);
    for (const broken of ["1:7", '1:"no record"', '1:"[1,2]\\n\\n"', '1:"[]\\n{\\n"'])
      await kept.driver.append("history/calls", [broken]);
    const second = await start(kept, { maxEntries: 40 });
    const numbers = numbersOf(await second.list("?limit=1000"));
    expect(numbers).toEqual(Array.from({ length: 40 }, (_, index) => 119 - index));
  });

  it("what was cleared stays away", async () => {
    const kept = new KeptStore();
    const first = await start(kept);
    await calls(first.gateway, 0, 3);
    expect(await (await first.clear()).json()).toEqual({ ok: true, cleared: 3 });
    await call(first.gateway, 3);
    await first.gateway.close();
    const second = await start(kept);
    expect(numbersOf(await second.list())).toEqual([3]);
    kept.isAway = true;
    expect((await second.clear()).status).toBe(503);
    expect(numbersOf(await second.list())).toEqual([3]);
    kept.isAway = false;
  });

  it("while the store is away calls go on; what it misses is counted, the rest is written once it is back", async () => {
    const kept = new KeptStore();
    const { gateway, list } = await start(kept, { maxEntries: 100 });
    await calls(gateway, 0, 10);
    await until(async () => (await stored(kept)).length === 10);
    kept.isAway = true;
    await calls(gateway, 10, 160);
    expect(numbersOf(await list("?limit=1000"))).toHaveLength(100);
    kept.isAway = false;
    await until(async () => (await stored(kept)).at(-1)!.value.includes('\\"n\\":159'));
    expect(numbersOf(await list("?limit=1"))).toEqual([159]);
    expect(await (await gateway.manage()).metrics()).toContain("history_dropped_total 50");
  });

  it("a batch whose confirmation was lost is shown once", async () => {
    const kept = new KeptStore();
    const first = await start(kept);
    await calls(first.gateway, 0, 4);
    await until(async () => (await stored(kept)).length === 4);
    const again = (await stored(kept)).slice(2).map(({ value }) => value);
    await kept.driver.append("history/calls", again);
    const second = await start(kept);
    expect(numbersOf(await second.list())).toEqual([3, 2, 1, 0]);
  });
});
