import { EventKinds, digestOf } from "propylon/kit";
import {
  anything,
  assert,
  constantFrom,
  integer,
  oneof,
  property,
  record,
  string,
} from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createKey } from "../../../plugins/keys/key.ts";
import { definePlugin } from "../../../core/index.ts";
import type { PluginEvent } from "../../../core/internal.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import admin from "../../../plugins/admin/index.ts";
import events from "../../../plugins/events/index.ts";
import gating from "../../../plugins/gating/index.ts";
import { readSse, TRANSPORTS, type Reader } from "./readers.ts";

declare module "propylon" {
  interface GatewayHooks {
    test_shelf: (news: { readonly shelf: string; readonly by?: string | undefined }) => void;
    test_till: (news: { readonly cents: number }) => void;
  }
}

const ROLES = ["viewer", "caller", "operator", "admin"] as const;
const KEYS = Object.fromEntries(ROLES.map((role) => [role, createKey(role)]));
const auth = {
  keys: Object.fromEntries(
    ROLES.map((role) => [role, { role, hash: `sha256:${digestOf(KEYS[role]!)}` as const }]),
  ),
};
const as = (role: string) => ({ headers: { authorization: `Bearer ${KEYS[role]}` } });

const shelf = {
  description: "A shelf was filled.",
  access: "viewer",
  data: z.strictObject({ shelf: z.string().max(20_000), by: z.string().optional() }),
  owner: "by",
} as const;
const till = {
  description: "The till was counted.",
  access: "admin",
  data: z.strictObject({ cents: z.int() }),
} as const;

/** A shop, and what it emits by. */
function makeShop() {
  let emit!: (kind: "test_shelf" | "test_till", data: unknown) => void;
  const shop = definePlugin({
    name: "shop",
    setup(gateway) {
      gateway.add(EventKinds, { ...shelf, kind: "test_shelf" });
      gateway.add(EventKinds, { ...till, kind: "test_till" });
      emit = (kind, data) => gateway.emit(kind, data as never);
    },
  });
  return { shop, emit: (...told: Parameters<typeof emit>) => emit(...told) };
}

type Plugins = Readonly<Record<string, Record<string, unknown>>>;
const PLUGINS: Plugins = { events: {}, gating: { state: false }, admin: {}, shop: {} };

const { shop: _, ...WITHOUT } = PLUGINS;

async function start() {
  const { shop, emit } = makeShop();
  const config = { auth, listeners: { main: { port: 0 } }, plugins: PLUGINS };
  const { gateway, url } = await setupGateway({
    plugins: [events, gating, admin, shop],
    config,
    client: false,
  });
  const apply = (now: Plugins) => gateway.apply({ ...config, plugins: now });
  return { gateway, url, emit, apply };
}

/** Waits until a reader was told of everything that came before. */
async function settle(readers: readonly Reader[], emit: (shelf: string) => void): Promise<void> {
  emit("last");
  for (const reader of readers)
    await expect
      .poll(() => reader.told("test_shelf").some((data) => data["shelf"] === "last"))
      .toBe(true);
}

describe("kinds of plugins", () => {
  it.each(TRANSPORTS)(
    "over %s: who has the role is told, and who has not is not",
    async (_name, read) => {
      const { url, emit } = await start();
      const readers = await Promise.all(ROLES.map((role) => read(url, as(role))));
      emit("test_till", { cents: 12 });
      await settle(readers, (name) => emit("test_shelf", { shelf: name }));
      expect(readers.map((reader) => reader.told("test_till").length)).toEqual([0, 0, 0, 1]);
      const [viewer, , , boss] = readers;
      expect(boss!.told("test_till")[0]).toEqual({ at: expect.any(String), cents: 12 });
      const named = await Promise.all(
        readers.map(async (each) => (await each.find("hello")).data.kinds),
      );
      expect(named.map((kinds) => kinds.includes("test_till"))).toEqual([
        false,
        false,
        false,
        true,
      ]);
      expect(named.every((kinds) => kinds.includes("test_shelf"))).toBe(true);
      expect(viewer!.events.at(-1)!.id).toMatch(/-\d+$/);
    },
  );

  it("a kind that takes another role is refused by its name, one that nobody declares is unknown", async () => {
    const { url } = await start();
    await expect(readSse(url, { query: "kinds=test_till", ...as("operator") })).rejects.toThrow(
      /^403: .*take the role admin/,
    );
    await expect(readSse(url, { query: "also=test_till", ...as("viewer") })).rejects.toThrow(
      /^403/,
    );
    await expect(readSse(url, { query: "kinds=test_tills", ...as("admin") })).rejects.toThrow(
      /^422/,
    );
    const reader = await readSse(url, { query: "kinds=test_till", ...as("admin") });
    expect((await reader.find("hello")).data.kinds).toEqual(["test_till"]);
  });

  it("also= shows what has to be asked for beside the default", async () => {
    const { url } = await start();
    const reader = await readSse(url, { query: "also=progress,call_end", ...as("viewer") });
    const { kinds } = (await reader.find("hello")).data;
    const usual = (await (await readSse(url, as("viewer"))).find("hello")).data.kinds;
    expect(new Set(kinds)).toEqual(new Set([...usual, "progress", "call_end"]));
    expect(usual).not.toContain("progress");
  });

  it("an event with an owner is for the owner and operators", async () => {
    const { url, emit } = await start();
    const readers = await Promise.all(ROLES.map((role) => readSse(url, as(role))));
    emit("test_shelf", { shelf: "tea", by: "key:caller" });
    await settle(readers, (name) => emit("test_shelf", { shelf: name }));
    const counts = readers.map((reader) => reader.told("test_shelf").length);
    expect(counts).toEqual([1, 2, 2, 2]);
  });

  it("a reload that removes a plugin removes its kinds, one that brings it brings them to streams that are open", async () => {
    const { gateway, url, emit, apply } = await start();
    await apply(WITHOUT);
    expect(gateway.point(EventKinds)).toEqual([]);
    const open = await readSse(url, as("admin"));
    const named = await readSse(url, { query: "kinds=reload_done", ...as("admin") });
    await apply(PLUGINS);
    await settle([open], (name) => emit("test_shelf", { shelf: name }));
    expect(named.told("test_shelf")).toEqual([]);
    const { lastId } = (await (await readSse(url, as("admin"))).find("hello")).data;
    await apply(WITHOUT);
    // What the plugin left behind goes on, and nobody is told.
    emit("test_till", { cents: 1 });
    await apply(PLUGINS);
    await settle([open], (name) => emit("test_shelf", { shelf: name }));
    expect(open.told("test_till")).toEqual([]);
    await apply(WITHOUT);
    await expect(readSse(url, { query: "kinds=test_shelf", ...as("admin") })).rejects.toThrow(
      /^422/,
    );
    const late = await readSse(url, { query: `lastEventId=${lastId}`, ...as("admin") });
    await late.find("reload_done");
    expect((await late.find("hello")).data.kinds).not.toContain("test_shelf");
  });

  it("GET /_meta/ui lists the kinds that the caller may see, with their schemas", async () => {
    const { url } = await start();
    const eventsFor = async (role: string): Promise<readonly Record<string, unknown>[]> =>
      ((await (await fetch(`${url}/_meta/ui`, as(role))).json()) as { events: [] }).events;
    expect(await eventsFor("operator")).toEqual([
      {
        kind: "test_shelf",
        plugin: "shop",
        description: shelf.description,
        access: "viewer",
        owner: "by",
        schema: expect.objectContaining({ type: "object", required: ["shelf"] }),
      },
    ]);
    const all = await eventsFor("admin");
    expect(all.map(({ kind, owner }) => [kind, owner])).toEqual([
      ["test_shelf", "by"],
      ["test_till", null],
    ]);
    const nobody = await fetch(`${url}/_meta/ui`);
    expect(await nobody.json()).toMatchObject({ events: [] });
  });

  it("whatever a plugin emits, what is told is as its schema says, and small", async () => {
    const told: PluginEvent[] = [];
    const { shop, emit } = makeShop();
    const ear = definePlugin({
      name: "ear",
      setup: (gateway) => gateway.hook("plugin:event", (event) => void told.push(event)),
    });
    await setupGateway({ plugins: [shop, ear], client: false });
    const data = oneof(
      anything(),
      record({ shelf: string(), cents: integer() }, { requiredKeys: [] }),
      record({ shelf: integer({ min: 0, max: 20_000 }).map((length) => "x".repeat(length)) }),
      record({ cents: integer() }),
    );
    assert(
      property(constantFrom("test_shelf", "test_till"), data, (kind, given) => {
        told.length = 0;
        emit(kind, given);
        const { data: wanted } = (kind === "test_till" ? till : shelf).data.safeParse(given);
        const isSmall = wanted !== undefined && JSON.stringify(wanted).length <= 16_384;
        expect(told.map((event) => event.data)).toEqual(isSmall ? [wanted] : []);
      }),
      { numRuns: 500 },
    );
  });
});

describe("a declaration", () => {
  const plugin = (name: string, kinds: object) =>
    definePlugin({
      name,
      setup(gateway) {
        for (const [kind, declared] of Object.entries(kinds))
          gateway.add(EventKinds, { kind, ...declared } as never);
      },
    });
  const run = (...plugins: readonly ReturnType<typeof plugin>[]) =>
    setupGateway({ plugins: [events, ...plugins], client: false });

  it.each([
    ["Shelf", shelf, /lower-case words joined by _/],
    ["shelf", { ...shelf, access: "anybody" }, /access/],
    ["shelf", { ...shelf, data: {} }, /data: must be a zod schema/],
    ["shelf", { ...shelf, description: "" }, /description/],
    ["shelf", { ...shelf, secret: true }, /secret/],
    ["shelf", {}, /Kind of events "shelf" of plugin "shop"/],
  ])("of %s that says too little is refused", async (kind, declared, words) => {
    await expect(run(plugin("shop", { [kind]: declared }))).rejects.toThrow(words);
  });

  it("of one kind by two plugins is refused", async () => {
    const both = [plugin("shop", { shelf }), plugin("store", { shelf })];
    await expect(run(...both)).rejects.toThrow('"shop" and "store" both add the kind of events');
  });

  it("cannot take the name of what the gateway tells: a warning says so, and nothing changes", async () => {
    const { gateway, url } = await run(plugin("shop", { log: shelf, hello: shelf }));
    expect((await gateway.manage()).warnings()).toMatchObject([
      { message: expect.stringContaining('"log", which has another meaning') },
    ]);
    const reader = await readSse(url);
    const { kinds } = (await reader.find("hello")).data;
    expect(kinds).not.toContain("log");
    expect(kinds).not.toContain("hello");
  });
});
