import { expect, it } from "vitest";
import { definePlugin } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import metrics, { type HourView } from "../../../plugins/metrics/index.ts";
import { KeptStore } from "../../fixtures/kept-store.ts";

const talker = definePlugin({
  name: "talker",
  setup: (gateway) => void gateway.tool("talk", { description: "Talks.", run: () => "hello" }),
});

interface Figures {
  readonly replicas: readonly {
    readonly replica: string;
    readonly metrics: { readonly tool_calls_total: number } | null;
  }[];
}

async function start(kept: KeptStore) {
  const { gateway, url } = await setupGateway({
    plugins: [kept.plugin, talker, [metrics, { cacheTtl: 0 }]],
    config: { store: "kept" },
    client: false,
  });
  const ask = (query: string) => fetch(`${url}/_meta/metrics?${query}`);
  const read = async () => ((await (await ask("all=1")).json()) as Figures).replicas;
  const talk = () => gateway.call({ server: "talker", name: "talk" });
  const hour = async () => (await (await fetch(`${url}/_meta/metrics/hour`)).json()) as HourView;
  return { ask, read, talk, hour };
}

it("tells the figures of every replica of the store, and which of them does not answer", async () => {
  const kept = new KeptStore({ shared: true });
  const [first, second] = [await start(kept), await start(kept)];
  await first.talk();
  for (let call = 0; call < 2; call++) await second.talk();
  const totalsOf = ({ metrics: figures }: Figures["replicas"][number]) => figures?.tool_calls_total;
  for (const { read } of [first, second]) expect((await read()).map(totalsOf)).toEqual([1, 2]);
  // As after a kill: listed for a moment, and silent.
  const gone = { id: "00000000-0000-4000-8000-000000000000", version: "1", since: 0 };
  const until = Date.now() + 60_000;
  const value = JSON.stringify(gone);
  const [entry] = await kept.driver.list("core/replicas", { prefix: "", limit: 1 });
  const head = entry!.value.slice(0, entry!.value.indexOf("{"));
  await kept.driver.put("core/replicas", gone.id, `${head}${value}`, { until });
  expect(await second.read()).toMatchObject([
    { replica: gone.id, since: "1970-01-01T00:00:00.000Z", metrics: null },
    { metrics: { tool_calls_total: 1 } },
    { metrics: { tool_calls_total: 2 } },
  ]);
  const refused = await Promise.all(["all=2", "all=1&format=prometheus"].map(first.ask));
  expect(refused.map(({ status }) => status)).toEqual([422, 422]);
});

it("is one gateway where the store is its own", async () => {
  const one = await start(new KeptStore());
  await one.talk();
  expect(await one.read()).toMatchObject([{ metrics: { tool_calls_total: 1 } }]);
});

it("43: the last hour is that of all replicas of the store", async () => {
  const kept = new KeptStore({ shared: true });
  const [first, second] = [await start(kept), await start(kept)];
  await first.talk();
  for (let call = 0; call < 2; call++) await second.talk();
  for (const { hour } of [first, second]) {
    const { minutes, busiest, missing } = await hour();
    expect(minutes.reduce((sum, { calls }) => sum + calls, 0)).toBe(3);
    expect(busiest).toMatchObject([{ server: "talker", tool: "talk", calls: 3, failed: 0 }]);
    expect(missing).toEqual([]);
  }
});
