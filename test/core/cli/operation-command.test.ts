import { expect, it, vi } from "vitest";
import { z } from "zod";
import { operationCommands } from "propylon/cli";
import { definePlugin, durationSchema, operation } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";

const BASE = "/_meta/shelf/books";
const lend = operation({
  name: "book lend",
  method: "POST",
  path: `${BASE}/:id/loans`,
  access: "public",
  words: "Lend a book.",
  input: z.strictObject({
    reader: z.string(),
    notes: z.array(z.string()).meta({ title: "Notes" }),
    kind: z.enum(["short", "long"]).optional().meta({ flag: "--long" }),
    shelf_id: z.string().optional().meta({ description: "from where" }),
    tags: z.array(z.string()).default(["new"]).meta({ flag: "--tag <tag>" }),
    for: durationSchema().optional(),
    secret: z.string().optional().meta({ hidden: true }),
  }),
  body: { desk: 1 },
});
const list = operation({
  name: "book list",
  method: "GET",
  path: BASE,
  access: "public",
  words: "List books.",
  input: z.strictObject({ reader: z.string().optional() }),
});
const commands = operationCommands("shelf", [lend, list]);

it("words are what the path and the input need, and the rest is flags", () => {
  const { arguments: words, flags } = commands["lend"]!;
  expect(words).toBe("<id> <reader> [notes...]");
  expect(flags!.slice(0, 4)).toEqual([
    { flag: "--long", description: "" },
    { flag: "--shelf-id <shelf_id>", description: "from where" },
    { flag: "--tag <tag>", description: "", repeatable: true },
    { flag: "--for <for>", description: "", read: "duration" },
  ]);
  expect(commands["list"]!.arguments).toBeUndefined();
});

it("sends them where the operation takes them, with what is always sent", async () => {
  const seen: unknown[] = [];
  const shelf = definePlugin({
    name: "shelf",
    setup(gateway) {
      for (const { method, path } of [lend, list])
        gateway.route(method, path, { access: "public", mutates: false }, async ({ req, url }) => {
          seen.push({ at: url.pathname + url.search, body: await req.text() });
          return { ok: true };
        });
    },
  });
  const { url: target } = await setupGateway({ plugins: [shelf], client: false });
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  const run = (name: string, words: string[], flags: object): unknown =>
    commands[name]!.run!({ arguments: words, flags: { target, ...flags }, rest: undefined });
  await run("lend", ["a/b", "ada", "x", "y"], { long: true, shelfId: "s" });
  await run("list", [], { reader: "mia" });
  await run("list", [], {});
  log.mockRestore();
  const body = {
    reader: "ada",
    notes: ["x", "y"],
    kind: "long",
    shelf_id: "s",
    tags: ["new"],
    desk: 1,
  };
  expect(seen).toEqual([
    { at: `${BASE}/a%2Fb/loans`, body: JSON.stringify(body) },
    { at: `${BASE}?reader=mia`, body: "" },
    { at: BASE, body: "" },
  ]);
});
