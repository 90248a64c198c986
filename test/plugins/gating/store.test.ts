import { watch } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { createFileGateway, definePlugin, type Gateway } from "propylon";
import gating, { Gating, type GatingService } from "propylon/plugins/gating";
import { expect, it, onTestFinished } from "vitest";
import { lockFile } from "../../../core/kit.ts";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { makeFolder } from "../../kit/folder.ts";
import { until } from "../../kit/until.ts";
import { serveEverything, setupGating, whenListed, type Gated } from "./kit.ts";

const OFF = { server: "house", tool: "alpha", enabled: false };

interface Started {
  readonly gateway: Gateway;
  readonly service: GatingService;
}

async function startOn(kept: KeptStore, url: string): Promise<Gated> {
  const running = await setupGating(
    {},
    { servers: { house: { url } }, store: "kept", plugins: { kept: {} } },
    [kept.plugin],
  );
  await whenListed(running.gateway, "house");
  return running;
}

/** When somebody asks for the lock of the state file: a draft of it comes. */
function whenAsked(folder: string): Promise<void> {
  return new Promise((resolve) => {
    const watcher = watch(folder, (_event, name) => {
      if (!/^\.team_state\.json\..*\.tmp$/.test(name ?? "")) return;
      watcher.close();
      resolve();
    });
    onTestFinished(() => watcher.close());
  });
}

/** A gateway of a config file, which has a state file by default. */
async function startFile(
  folder: string,
  kept: KeptStore | undefined,
  url: string,
): Promise<Started> {
  const seen: { service?: GatingService } = {};
  const probe = definePlugin({
    name: "probe",
    inject: { gating: Gating },
    setup: ({ services }) => void (seen.service = services.gating),
  });
  const file = join(folder, "team.yaml");
  const store = kept ? "store: kept\n" : "";
  await writeFile(
    file,
    `${store}listeners: { main: { port: 0 } }\nservers:\n  house: { url: "${url}" }\nplugins: { gating: {}, probe: {}${kept ? ", kept: {}" : ""} }\n`,
  );
  const gateway = await createFileGateway(file, {
    plugins: { gating, probe, ...(kept && { kept: kept.plugin }) },
    log: pino({ level: "silent" }),
  });
  onTestFinished(() => gateway.close({ grace: 0 }));
  await gateway.listen();
  await whenListed(gateway, "house");
  return { gateway, service: seen.service! };
}

it("flags and connections of a durable store are there after a restart", async () => {
  const kept = new KeptStore();
  const { url } = await serveEverything();
  const first = await startOn(kept, url);
  await first.service.set([OFF, { server: "house", enabled: false }], "key:ci");
  await first.service.set([{ server: "house", enabled: true }], "key:ci");
  const { lastInit } = first.service.export().servers["house"]!;
  expect(lastInit).not.toBeNull();
  await first.gateway.close();
  const second = await startOn(kept, url);
  expect(second.service.isToolEnabled("house", "alpha")).toBe(false);
  expect(second.service.isServerEnabled("house")).toBe(true);
  await second.gateway.close();
  const third = await setupGating(
    {},
    { servers: { house: { url: "http://127.0.0.1:1/mcp" } }, store: "kept", plugins: { kept: {} } },
    [kept.plugin],
  );
  const known = third.service.export().servers["house"]!.lastInit!;
  expect(Date.parse(known)).toBeGreaterThanOrEqual(Date.parse(lastInit!));
});

it("a switch that was confirmed is there although nothing was closed", async () => {
  const kept = new KeptStore();
  const { url } = await serveEverything();
  const first = await startOn(kept, url);
  await first.service.set([OFF], "key:ci");
  const second = await startOn(kept, url);
  expect(second.service.isToolEnabled("house", "alpha")).toBe(false);
});

it("while the store is away a switch is refused, nothing changed, and flags decide as last known", async () => {
  const kept = new KeptStore();
  const { url } = await serveEverything();
  const first = await startOn(kept, url);
  await first.service.set([OFF], "key:ci");
  kept.isAway = true;
  await expect(first.service.set([{ ...OFF, enabled: true }], "key:ci")).rejects.toMatchObject({
    code: "unavailable",
    status: 503,
  });
  expect(first.service.isToolEnabled("house", "alpha")).toBe(false);
  kept.isAway = false;
  await until(() => first.service.set([{ ...OFF, enabled: true }], "key:ci").catch(() => false));
  const second = await startOn(kept, url);
  expect(second.service.isToolEnabled("house", "alpha")).toBe(true);
});

it("what was refused is not there after a restart, although the store took it", async () => {
  const kept = new KeptStore();
  const { url } = await serveEverything();
  const first = await startOn(kept, url);
  kept.writesLeft = 0;
  await expect(first.service.set([OFF], "key:ci")).rejects.toMatchObject({ code: "unavailable" });
  await kept.driver.put(
    "gating/flags",
    "house/alpha",
    `1:${JSON.stringify({ ...OFF, by: "key:ci" })}`,
  );
  kept.writesLeft = Infinity;
  kept.isAway = false;
  const stored = () => kept.driver.get("gating/flags", "house/alpha");
  await until(async () => !(await stored())?.value.includes('"enabled":false'));
  const second = await startOn(kept, url);
  expect(second.service.isToolEnabled("house", "alpha")).toBe(true);
});

it("of several flags that cannot all be written none is set after a restart", async () => {
  const kept = new KeptStore();
  const { url } = await serveEverything();
  const first = await startOn(kept, url);
  kept.writesLeft = 1;
  const both = [OFF, { ...OFF, tool: "beta" }];
  await expect(first.service.set(both, "key:ci")).rejects.toMatchObject({ code: "unavailable" });
  expect(first.service.isToolEnabled("house", "alpha")).toBe(true);
  kept.writesLeft = Infinity;
  kept.isAway = false;
  await first.gateway.close();
  const second = await startOn(kept, url);
  expect(second.service.isToolEnabled("house", "alpha")).toBe(true);
  expect(second.service.isToolEnabled("house", "beta")).toBe(true);
});

it("a state file of before is taken over once, and counts no more then", async () => {
  const folder = makeFolder();
  const kept = new KeptStore();
  const { url } = await serveEverything();
  const first = await startFile(folder, undefined, url);
  await first.service.set([OFF], "key:ci");
  await first.gateway.close();
  const second = await startFile(folder, kept, url);
  expect(second.service.isToolEnabled("house", "alpha")).toBe(false);
  const before = await readFile(join(folder, "team_state.json"), "utf8");
  await second.service.set([{ ...OFF, enabled: true }], "key:ci");
  await second.gateway.close();
  expect(await readFile(join(folder, "team_state.json"), "utf8")).toBe(before);
  const third = await startFile(folder, kept, url);
  expect(third.service.isToolEnabled("house", "alpha")).toBe(true);
});

it("fleet 3: a gateway that starts while another takes the state file over waits for it", async () => {
  const folder = makeFolder();
  const kept = new KeptStore();
  const { url } = await serveEverything();
  const first = await startFile(folder, undefined, url);
  await first.service.set([OFF], "key:ci");
  await first.gateway.close();
  const lock = await lockFile(join(folder, "team_state.json"));
  let isReleased = false;
  const met = whenAsked(folder);
  const starting = startFile(folder, kept, url).then((started) => ({ started, isReleased }));
  await Promise.race([starting.catch(() => {}), met]);
  isReleased = true;
  await lock.release();
  const second = await starting;
  expect(second.isReleased).toBe(true);
  expect(second.started.service.isToolEnabled("house", "alpha")).toBe(false);
});

it("fleet 3: a gateway asks for no state file that is not there", async () => {
  const folder = makeFolder();
  const { url } = await serveEverything();
  const lock = await lockFile(join(folder, "team_state.json"));
  onTestFinished(() => lock.release());
  const { service } = await startFile(folder, new KeptStore(), url);
  expect(service.isToolEnabled("house", "alpha")).toBe(true);
});

it("fleet 3: a state file that another gateway goes on using stops the start", async () => {
  const folder = makeFolder({ "team_state.json": '{"version":1}' });
  const { url } = await serveEverything();
  const lock = await lockFile(join(folder, "team_state.json"));
  onTestFinished(() => lock.release());
  await expect(startFile(folder, new KeptStore(), url)).rejects.toThrow(
    "in use by another gateway",
  );
}, 30_000);

it("a state file of before that cannot be read stops the start", async () => {
  const folder = makeFolder({ "team_state.json": "{" });
  const { url } = await serveEverything();
  await expect(startFile(folder, new KeptStore(), url)).rejects.toMatchObject({ code: "io_error" });
});

it("a file that the options name counts, whatever the store", async () => {
  const folder = makeFolder();
  const kept = new KeptStore();
  const { url } = await serveEverything();
  const start = async () => {
    const config = { servers: { house: { url } }, store: "kept", plugins: { kept: {} } };
    const running = await setupGating({ state: join(folder, "own.json") }, config, [kept.plugin]);
    await whenListed(running.gateway, "house");
    return running;
  };
  const first = await start();
  await first.service.set([OFF], "key:ci");
  await first.gateway.close();
  expect(await readFile(join(folder, "own.json"), "utf8")).toContain("alpha");
  const second = await start();
  expect(second.service.isToolEnabled("house", "alpha")).toBe(false);
});

it("a flag that cannot be read is off", async () => {
  const kept = new KeptStore();
  const { url } = await serveEverything();
  await kept.driver.put(
    "gating/flags",
    "house/alpha",
    '1:{"server":"house","tool":"alpha","enabled":7}',
  );
  await kept.driver.put("gating/flags", "broken", "1:{");
  const { service } = await startOn(kept, url);
  expect(service.isToolEnabled("house", "alpha")).toBe(false);
  expect(service.isToolEnabled("house", "beta")).toBe(true);
});

it("a switch at one gateway of a shared store counts at the other, and none is lost", async () => {
  const kept = new KeptStore({ shared: true });
  const { url } = await serveEverything();
  const [one, two] = [await startOn(kept, url), await startOn(kept, url)];
  await one.service.set([OFF], "key:ci");
  await until(() => !two.service.isToolEnabled("house", "alpha"));
  expect(two.changes).toEqual([{ ...OFF, by: "key:ci", remote: true }]);
  expect(one.changes).toEqual([{ ...OFF, by: "key:ci" }]);
  await two.service.set([{ ...OFF, tool: "beta" }], "key:cd");
  await until(() => !one.service.isToolEnabled("house", "beta"));
  expect(one.service.isToolEnabled("house", "alpha")).toBe(false);
  for (let count = 0; count < 50; count++)
    await Promise.all([
      one.service.set([{ ...OFF, enabled: count % 2 === 0 }], "key:ci"),
      two.service.set([{ ...OFF, enabled: count % 2 === 1 }], "key:cd"),
    ]);
  const isOn = (each: Gated) => each.service.isToolEnabled("house", "alpha");
  const three = await startOn(kept, url);
  await until(() => isOn(one) === isOn(three) && isOn(two) === isOn(three));
});
