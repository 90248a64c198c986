import { ServerTypes } from "propylon/kit";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  createFileGateway,
  definePlugin,
  defineService,
  optional,
  type GatewayError,
  type ReloadReport,
} from "../../../core/index.ts";
import type { ReloadPlan } from "../../../core/kit.ts";
import { makeFolder } from "../../kit/folder.ts";

const Base = defineService<string>("base");
const config = z.strictObject({
  level: z.int().optional(),
  fails: z.literal("setup").optional(),
});
const base = definePlugin({
  name: "base",
  config,
  provides: Base,
  serverTypes: { kind: z.strictObject({ word: z.string() }) },
  setup(gateway) {
    if (gateway.config.fails) throw new Error("it was told to fail");
    gateway.add(ServerTypes, {
      type: "kind",
      create: () => {
        throw new Error("no entry is switched on");
      },
    });
    return "base";
  },
});
const user = definePlugin({
  name: "user",
  config,
  inject: { base: optional(Base) },
  setup(gateway) {
    if (gateway.config.fails) throw new Error("it was told to fail");
    gateway.tool("level", { description: "Its level.", run: () => String(gateway.config.level) });
  },
});
const strict = definePlugin({ name: "strict", inject: { base: Base }, setup() {} });

const options = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ level: fc.integer({ min: 0, max: 2 }) }, { requiredKeys: [] }),
  },
  { weight: 1, arbitrary: fc.constant({ fails: "setup" }) },
  { weight: 1, arbitrary: fc.constant({ levle: 1 }) },
);
const server = fc.oneof(
  fc.record({ command: fc.constant("true"), enabled: fc.constant(false), timeout: fc.nat(2) }),
  fc.record({
    type: fc.constantFrom("kind", "kidn"),
    word: fc.constant("x"),
    enabled: fc.constant(false),
  }),
  fc.record({ url: fc.constantFrom("http://127.0.0.1:9/a", "http://127.0.0.1:9/b", "nowhere") }),
);
const whole = fc.record(
  {
    name: fc.constantFrom("one", "two"),
    timeouts: fc.record({ default: fc.nat(3) }),
    limits: fc.record({ depth: fc.constantFrom(8, 16) }),
    servers: fc.dictionary(fc.constantFrom("a", "b", "user"), server, { maxKeys: 2 }),
    endpoints: fc.constantFrom(
      { mcp: {} },
      { mcp: { servers: ["user"] } },
      { mcp: { servers: ["ghost"] } },
    ),
    plugins: fc.record(
      { base: options, user: options, strict: fc.constant({}) },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);

function planOf({ plugins, servers, restartRequired }: ReloadReport): ReloadPlan {
  return { plugins, servers, restartRequired };
}

function changesIn({ plugins, servers }: ReloadReport): number {
  return plugins.changed.length + servers.changed.length;
}

/** A campaign makes more. */
const EDITS = Number(process.env["PLAN_EDITS"] ?? 150);

it("plan says what a reload does, of random edits, and refuses what it refuses in the same words", async () => {
  const folder = makeFolder();
  const file = join(folder, "gateway.json");
  await writeFile(file, "{}");
  const log = pino({ enabled: false });
  const gateway = await createFileGateway(file, { log, plugins: { base, user, strict } });
  onTestFinished(() => gateway.close({ grace: 0 }));
  const management = await gateway.manage();
  const seen = { applied: 0, refused: 0, changed: 0 };
  const told = (error: GatewayError) => ({ refused: [error.message, error.hint, error.place] });
  await fc.assert(
    fc.asyncProperty(whole, async (value) => {
      await writeFile(file, JSON.stringify(value));
      const generation = gateway.info.generation;
      const planned = await management.plan().catch(told);
      expect(gateway.info.generation).toBe(generation);
      const done = await management.reload().catch(told);
      expect(planned).toEqual("refused" in done ? done : planOf(done));
      if ("plugins" in done) seen.changed += Math.min(1, changesIn(done));
      seen["refused" in done ? "refused" : "applied"]++;
    }),
    { numRuns: EDITS },
  );
  // Neither half may be empty.
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(EDITS / 25);
});

it("an option that needs more than the store can do is told at its place, before the store is opened", async () => {
  const folder = makeFolder();
  const file = join(folder, "gateway.yaml");
  await writeFile(file, "{}");
  const log = pino({ enabled: false });
  const needy = definePlugin({
    name: "needy",
    config: z.strictObject({ mode: z.string() }),
    needs: ({ mode }) => ({
      store:
        mode === "queue" ? [{ path: ["mode"], ability: "queue", by: "The mode is queue" }] : [],
    }),
    setup() {},
  });
  const open = (): never => expect.unreachable("the store was opened");
  const able = definePlugin({
    name: "able",
    stores: { able: { open, abilities: ["queue"] } },
    setup() {},
  });
  const unable = definePlugin({ name: "unable", stores: { unable: { open } }, setup() {} });
  const gateway = await createFileGateway(file, { log, plugins: { needy, able, unable } });
  onTestFinished(() => gateway.close({ grace: 0 }));
  const plan = async (mode: string, store: string): Promise<unknown> => {
    await writeFile(
      file,
      `store: "${store}:x"\nplugins:\n  able: {}\n  unable: {}\n  needy:\n    mode: ${mode}\n`,
    );
    return (await gateway.manage()).plan().catch((error: GatewayError) => error);
  };
  expect(await plan("queue", "unable")).toMatchObject({
    code: "reload_failed",
    message: expect.stringContaining(
      'gateway.yaml:6:11 The mode is queue, which needs a store that hands out work; the store "unable" does not.',
    ) as string,
    hint: "Set store: nats://..., or leave the option out.",
    place: { line: 6, column: 11, path: "plugins.needy.mode" },
  });
  for (const [mode, store] of [
    ["queue", "able"],
    ["none", "unable"],
  ] as const)
    expect(await plan(mode, store)).toMatchObject({ restartRequired: ["store"] });
});
