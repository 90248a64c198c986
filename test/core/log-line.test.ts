import { pino } from "pino";
import { expect, it } from "vitest";
import { configSchema, createLogger, definePlugin } from "../../core/index.ts";
import { tapLog } from "../../core/config/log.ts";
import { setupGateway } from "../../core/testing/index.ts";

const config = configSchema.parse({}).log;

it("log:line shows what is written, redacted, whatever format people read, and nothing once the gateway is closed", async () => {
  const written: string[] = [];
  const shown: string[] = [];
  const log = await createLogger(
    { ...config, format: "pretty" },
    { write: (line) => void written.push(line) },
  );
  const plugin = definePlugin({
    name: "watcher",
    setup(gateway) {
      gateway.hook("log:line", (line) => void shown.push(line));
      gateway.route("GET", "/say", { access: "public", mutates: false }, () => {
        gateway.log.warn({ token: "canary" }, "two\nlines");
        return "";
      });
    },
  });
  const { gateway, url } = await setupGateway({ plugins: [plugin], log, client: false });
  await fetch(`${url}/say`);
  const line = shown.find((text) => text.includes("two"))!;
  expect(written).toContain(`${line}\n`);
  expect(line).not.toContain("\n");
  expect(JSON.parse(line)).toMatchObject({
    level: "warn",
    plugin: "watcher",
    token: "[redacted]",
    msg: "two\nlines",
  });
  await gateway.close();
  const told = shown.length;
  log.info("afterwards");
  expect(shown).toHaveLength(told);
  expect(written.at(-1)).toContain("afterwards");
});

it("a line logged while a line is told is written and not told, and a listener that throws does not silence others", async () => {
  const written: string[] = [];
  const shown: string[] = [];
  const log = await createLogger(config, { write: (line) => void written.push(line) });
  const { gateway } = await setupGateway({ log, client: false });
  gateway.hook("log:line", () => {
    log.info("about a line");
    throw new Error("a bad listener");
  });
  gateway.hook("log:line", (line) => void shown.push(line));
  log.info("first");
  log.info("second");
  expect(shown.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    "first",
    "second",
  ]);
  expect(written.filter((line) => line.includes("about a line"))).toHaveLength(2);
  expect(written.filter((line) => line.includes("a hook listener failed"))).toHaveLength(2);
});

it("a listener that fails later is logged once, and that line is told to nobody", async () => {
  const written: string[] = [];
  const log = await createLogger(config, { write: (line) => void written.push(line) });
  const gateways = [
    await setupGateway({ log, client: false }),
    await setupGateway({ log, client: false }),
  ];
  // Hooks only observe, so their types allow no promise.
  const failLater = (): unknown => Promise.reject(new Error("later"));
  for (const { gateway } of gateways) gateway.hook("log:line", failLater);
  log.info("first");
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  expect(written.filter((line) => line.includes("a hook listener failed"))).toHaveLength(2);
});

it("a listener of something else that fails is told as a line", async () => {
  const shown: string[] = [];
  const log = await createLogger(config, { write: () => {} });
  const plugin = definePlugin({
    name: "clumsy",
    setup(gateway) {
      gateway.hook("log:line", (line) => void shown.push(line));
      gateway.hook("gateway:drain", () => {
        throw new Error("a bad listener");
      });
    },
  });
  const { gateway } = await setupGateway({ plugins: [plugin], log, client: false });
  gateway.drain();
  expect(shown.filter((line) => line.includes("a hook listener failed"))).toHaveLength(1);
});

it("without a listener a line is not touched, and two gateways may share a logger", () => {
  const written: string[] = [];
  const log = pino({}, { write: (line) => void written.push(line) });
  const told: string[] = [];
  const silent = tapLog(
    log,
    () => false,
    () => void told.push("silent"),
  );
  const first = tapLog(
    log,
    () => true,
    () => void told.push("first"),
  );
  log.info("x");
  silent();
  log.info("y");
  first();
  log.info("z");
  expect(told).toEqual(["first", "first"]);
  expect(written).toHaveLength(3);
});
