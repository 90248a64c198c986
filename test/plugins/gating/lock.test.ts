import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createGateway } from "propylon";
import gating, { type GatingState } from "propylon/plugins/gating";
import payloads from "propylon/plugins/payloads";
import { expect, it, onTestFinished } from "vitest";
import { makeFolder } from "../../kit/folder.ts";
import { serveEverything, setupGating } from "./kit.ts";

it("a second gateway on a state file refuses to start, and no confirmed switch is lost", async () => {
  const state = join(makeFolder(), "state.json");
  const { url } = await serveEverything();
  const config = { servers: { house: { url } } };
  const first = await setupGating({ state }, config);
  await first.service.set([{ server: "house", enabled: false }], "test");
  const second = createGateway(
    { ...config, listeners: { main: { port: 0 } }, plugins: { gating: { state } } },
    { plugins: { gating } },
  );
  await expect(second).rejects.toMatchObject({
    code: "exists",
    message: expect.stringContaining(`in use by another gateway: process ${process.pid}`) as string,
  });
  await first.apply({ state, mcpoCompat: true });
  await first.service.set([{ server: "house", enabled: true }], "test");
  await first.service.set([{ server: "house", enabled: false }], "test");
  const { servers } = JSON.parse(await readFile(state, "utf8")) as GatingState;
  expect(servers["house"]!.enabled).toBe(false);
  await first.gateway.close();
  const third = await setupGating({ state }, config);
  expect(third.service.isServerEnabled("house")).toBe(false);
});

it("a gateway that is only looked at takes no lock and writes nothing", async () => {
  const state = join(makeFolder(), "state.json");
  const first = await setupGating({ state }, { servers: {} });
  const before = await readFile(state, "utf8").catch(() => undefined);
  const looked = await createGateway(
    { listeners: { main: { port: 0 } }, plugins: { gating: { state } } },
    { plugins: { gating }, dryRun: true },
  );
  await looked.close();
  expect(await readFile(state, "utf8").catch(() => undefined)).toBe(before);
  await first.gateway.close();
});

it("moves to another state file with a reload, and gives the first one back", async () => {
  const folder = makeFolder();
  const [one, two] = [join(folder, "one.json"), join(folder, "two.json")];
  const first = await setupGating({ state: one });
  await first.apply({ state: two });
  const second = await setupGating({ state: one });
  await expect(second.apply({ state: two })).rejects.toMatchObject({ code: "reload_failed" });
  await second.service.set([], "test");
});

it("a second gateway on a folder of payloads refuses to start", async () => {
  const store = join(makeFolder(), "payloads");
  const start = () =>
    createGateway(
      { listeners: { main: { port: 0 } }, plugins: { payloads: { store } } },
      { plugins: { payloads } },
    );
  const first = await start();
  onTestFinished(() => first.close());
  await expect(start()).rejects.toMatchObject({
    code: "exists",
    message: expect.stringContaining("folder of the payloads is in use") as string,
  });
  await first.close();
  await (await start()).close();
});
