import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { definePlugin, createFileGateway } from "propylon";
import { Management } from "propylon/kit";
import gating, { Gating, type GatingService } from "propylon/plugins/gating";
import { expect, it, onTestFinished } from "vitest";
import { makeFolder } from "../../kit/folder.ts";
import { serveEverything, whenListed } from "./kit.ts";

it("M016, M023, M098, M104: beside the config file, read at the start, kept by a reload that changes the plugin, back after a restart", async () => {
  const folder = makeFolder();
  const file = join(folder, "team.yaml");
  const upstream = await serveEverything();
  const write = (max: number) =>
    writeFile(
      file,
      `listeners: { main: { port: 0 } }
servers:
  house: { url: "${upstream.url}" }
plugins:
  gating: { timeouts: { max: ${max} } }
  probe: {}
`,
    );
  const seen: { gating?: GatingService; management?: Management } = {};
  const probe = definePlugin({
    name: "probe",
    inject: { gating: Gating, management: Management },
    setup: ({ services }) => void Object.assign(seen, services),
  });
  const start = async () => {
    const gateway = await createFileGateway(file, {
      plugins: { gating, probe },
      log: pino({ level: "silent" }),
    });
    onTestFinished(() => gateway.close({ grace: 0 }));
    await gateway.listen();
    await whenListed(gateway, "house");
    return gateway;
  };
  const refused = (gateway: Awaited<ReturnType<typeof start>>) =>
    gateway.call({ server: "house", name: "alpha" }).then(
      () => "fine",
      ({ code }: { code: string }) => code,
    );
  await write(60);
  const first = await start();
  expect(await refused(first)).toBe("fine");
  await seen.gating!.set([{ server: "house", tool: "alpha", enabled: false }], "x");
  expect((await readdir(folder)).toSorted()).toEqual([
    "team.yaml",
    "team_state.json",
    "team_state.json.lock",
  ]);
  await write(30);
  const { plugins } = await seen.management!.reload();
  expect(plugins.changed).toContain("gating");
  expect(await refused(first)).toBe("disabled");
  expect(
    seen.gating!.deadlineOf({
      method: "tools/call",
      server: "house",
      name: "beta",
      timeout: 90_000,
      meta: undefined,
    }),
  ).toEqual({ total: 30_000, clamped: true });
  await first.close();
  expect(JSON.parse(await readFile(join(folder, "team_state.json"), "utf8"))).toMatchObject({
    version: 1,
  });
  expect(await refused(await start())).toBe("disabled");
});

it("a corrupt file refuses the reload that brings the plugin; the old config serves on", async () => {
  const folder = makeFolder();
  const file = join(folder, "team.yaml");
  const config = "listeners: { main: { port: 0 } }\nplugins: { probe: {}";
  await writeFile(file, `${config} }\n`);
  const seen: { management?: Management } = {};
  const probe = definePlugin({
    name: "probe",
    inject: { management: Management },
    setup: ({ services }) => void Object.assign(seen, services),
  });
  const gateway = await createFileGateway(file, {
    plugins: { gating, probe },
    log: pino({ level: "silent" }),
  });
  onTestFinished(() => gateway.close({ grace: 0 }));
  await writeFile(join(folder, "team_state.json"), "{");
  await writeFile(file, `${config}, gating: {} }\n`);
  await expect(seen.management!.reload()).rejects.toMatchObject({
    code: "reload_failed",
    message: expect.stringContaining("team_state.json") as string,
  });
  expect(gateway.info.generation).toBe(1);
});
