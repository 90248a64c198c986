import { expect, it, onTestFinished } from "vitest";
import { fakeUpstream, type PluginEntry } from "propylon/testing";
import nats from "../../../plugins/nats/index.ts";
import postgres from "../../../plugins/postgres/index.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { FaultProxy } from "../../fixtures/faults/proxy.ts";
import { storesOf } from "../../fixtures/stores.ts";
import { until } from "../../kit/until.ts";
import { useServer as startNats } from "../nats/kit.ts";
import { freshSchema, startServer } from "../postgres/kit.ts";
import { setupGating, whenListed, type Gated } from "./kit.ts";

/** Switches whose time is taken, each at another gateway than the one before. */
const TIMED = Number(process.env["SWITCHES"] ?? 30);
/** Switches while the connections of a gateway break. */
const BROKEN = Number(process.env["SWITCHES_BROKEN"] ?? 9);
/** Switches whose answer is compared with what counts elsewhere at that moment. */
const ANSWERED = Number(process.env["SWITCHES_ANSWERED"] ?? 60);
/** Switches at once. */
const AT_ONCE = 300;
const TOOLS = Array.from({ length: AT_ONCE }, (_, at) => `t${at}`);

const STORES = storesOf(
  ["PostgreSQL", startServer, () => [postgres, { schema: freshSchema() }] as const],
  ["NATS", startNats, () => nats],
);

async function startOne(store: string, url: string, driver: PluginEntry): Promise<Gated> {
  const started = await setupGating({}, { store, servers: { house: { url } } }, [driver]);
  await whenListed(started.gateway, "house");
  return started;
}

/** For the page with the figures. Sorts them. */
function tell(what: string, times: number[]): void {
  times.sort((left, right) => left - right);
  const at = (share: number): string => times[Math.floor((times.length - 1) * share)]!.toFixed(1);
  process.stdout.write(
    `${what}, ${times.length} times: ${at(0.5)} ms (median), ${at(0.99)} ms (p99), ${at(1)} ms at most\n`,
  );
}

it.each(STORES)(
  "a switch counts at all gateways of one %s within 250 ms, and of 300 at once none is lost",
  { timeout: PATIENCE * (120_000 + TIMED * 250) },
  async (name, start, driver) => {
    const server = await start();
    const { url } = await fakeUpstream(
      Object.fromEntries(TOOLS.map((tool) => [tool, () => "here"])),
    );
    const plugin = driver();
    const fleet: Gated[] = [];
    for (let each = 0; each < 3; each++) fleet.push(await startOne(server.url, url, plugin));
    const isOn = ({ service }: Gated, tool: string): boolean =>
      service.isToolEnabled("house", tool);
    const times: number[] = [];
    for (let at = 0; at < TIMED; at++) {
      const enabled = at % 2 === 1;
      const begin = performance.now();
      const { service } = fleet[at % 3]!;
      const answered = service.set([{ server: "house", tool: "t0", enabled }], "key:ci");
      await until(() => fleet.every((each) => isOn(each, "t0") === enabled));
      times.push(performance.now() - begin);
      await answered;
    }
    tell(`${name}: a switch counts everywhere`, times);
    // The slowest of a hundred may be one that the machine held up.
    expect(times[Math.floor(times.length * 0.99) - 1]).toBeLessThan(PATIENCE * 250);
    await Promise.all(
      TOOLS.map((tool, at) =>
        fleet[at % 3]!.service.set([{ server: "house", tool, enabled: false }], "key:ci"),
      ),
    );
    const areAllOff = (each: Gated): boolean => TOOLS.every((tool) => !isOn(each, tool));
    await until(() => fleet.every(areAllOff));
    // They are in the store, and not only told.
    expect(areAllOff(await startOne(server.url, url, plugin))).toBe(true);
  },
);

it.each(STORES)(
  "fleet 4: a switch counts at all gateways of one %s when it is answered, two at once too",
  { timeout: PATIENCE * 120_000 },
  async (_, start, driver) => {
    const server = await start();
    const { url } = await fakeUpstream(
      Object.fromEntries(TOOLS.map((tool) => [tool, () => "here"])),
    );
    const plugin = driver();
    const fleet: Gated[] = [];
    for (let each = 0; each < 3; each++) fleet.push(await startOne(server.url, url, plugin));
    const late: unknown[] = [];
    for (let at = 0; at < ANSWERED; at++) {
      const enabled = at % 2 === 1;
      await fleet[at % 3]!.service.set([{ server: "house", tool: "t0", enabled }], "key:ci");
      for (const [gateway, { service }] of fleet.entries())
        if (service.isToolEnabled("house", "t0") !== enabled) late.push({ at, gateway });
    }
    expect(late).toEqual([]);
    // Both write the same flag: neither waits for the other for ever.
    const begun = performance.now();
    for (let at = 0; at < 5; at++)
      await Promise.all(
        fleet.map(({ service }, gateway) =>
          service.set([{ server: "house", tool: "t1", enabled: gateway === at % 3 }], "key:ci"),
        ),
      );
    expect(performance.now() - begun).toBeLessThan(PATIENCE * 5_000);
    const states = (): Set<boolean> =>
      new Set(fleet.map(({ service }) => service.isToolEnabled("house", "t1")));
    await until(() => states().size === 1);
  },
);

it.each(STORES)(
  "a switch of the moment in which a gateway of one %s loses its connections counts there within a second",
  { timeout: PATIENCE * (60_000 + BROKEN * 1_000) },
  async (name, start, driver) => {
    const server = await start();
    const { url } = await fakeUpstream({ t0: () => "here" });
    const plugin = driver();
    const fleet: Gated[] = [];
    const proxies: FaultProxy[] = [];
    for (let each = 0; each < 3; each++) {
      const proxy = await FaultProxy.start(server.port);
      onTestFinished(() => proxy.close());
      proxies.push(proxy);
      const store = server.url.replace(`:${server.port}`, `:${proxy.port}`);
      fleet.push(await startOne(store, url, plugin));
    }
    const times: number[] = [];
    for (let at = 0; at < BROKEN; at++) {
      const enabled = at % 2 === 1;
      const begin = performance.now();
      proxies[at % 3]!.reset();
      await fleet[(at + 1) % 3]!.service.set([{ server: "house", tool: "t0", enabled }], "key:ci");
      await until(() =>
        fleet.every((each) => each.service.isToolEnabled("house", "t0") === enabled),
      );
      times.push(performance.now() - begin);
    }
    tell(`${name}: a switch counts after a reset`, times);
    expect(times.at(-1)).toBeLessThan(1_000);
  },
);
