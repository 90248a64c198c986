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

const shelve = operation({
  name: "book shelve",
  method: "POST",
  path: `${BASE}/:id/place`,
  access: "public",
  words: "Put a book on its shelf.",
  input: z.strictObject({
    shelf: z.int(),
    upright: z.boolean(),
    notes: z.array(z.number()),
    height: z.number().nullable().optional(),
    lent: z.boolean().optional(),
    dusty: z.boolean().default(false).meta({ flag: "--dust" }),
    days: z.coerce.number().default(30),
  }),
});

it("numbers and booleans are sent as such, and what is not one is refused by the gateway", async () => {
  const shelf = definePlugin({
    name: "shelf",
    setup(gateway) {
      shelve.serve(gateway, async (_event, read) => read());
    },
  });
  const { url: target } = await setupGateway({
    plugins: [shelf],
    config: { management: { mutations: true } },
    client: false,
  });
  const said: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((text: string) => void said.push(text));
  const command = operationCommands("shelf", [shelve])["shelve"]!;
  const run = async (words: string[], flags: object = {}): Promise<void> => {
    await command.run!({
      arguments: words,
      flags: { target, json: true, ...flags } as never,
      rest: undefined,
    });
  };
  try {
    expect(command.arguments).toBe("<id> <shelf> <upright> [notes...]");
    expect(command.flags!.slice(0, 4)).toEqual([
      { flag: "--height <height>", description: "" },
      { flag: "--lent", description: "" },
      { flag: "--dust", description: "" },
      { flag: "--days <days>", description: "" },
    ]);
    await run(["a", "3", "true", "1", "-2.5"], { height: "7", lent: true, days: "9" });
    await run(["a", "3", "false"]);
    expect(said.map((text) => JSON.parse(text) as unknown)).toEqual([
      { shelf: 3, upright: true, notes: [1, -2.5], height: 7, lent: true, dusty: false, days: 9 },
      { shelf: 3, upright: false, notes: [], dusty: false, days: 30 },
    ]);
    for (const words of [
      ["a", "three", "true"],
      ["a", "", "true"],
      ["a", "Infinity", "true"],
      ["a", "3", "yes"],
      ["a", "3", "true", "x"],
    ])
      await expect(run(words)).rejects.toMatchObject({ code: "invalid" });
  } finally {
    log.mockRestore();
  }
});

it.each([
  ["POST", { at: z.object({ row: z.number() }) }, "it is of the type object"],
  ["POST", { at: z.array(z.record(z.string(), z.string())) }, "it is of the type record"],
  ["POST", { at: z.array(z.array(z.string())).optional() }, "it is of the type array"],
  ["POST", { at: z.date() }, "it is of the type date"],
  ["DELETE", { at: z.array(z.string()) }, "the query of a DELETE has no lists"],
  ["DELETE", { at: z.int().optional() }, "all in the query of a DELETE is text"],
  ["GET", { at: z.boolean() }, "all in the query of a GET is text"],
  ["POST", { at: z.boolean().default(true) }, "its flag could only say what it is by default"],
] as const)("a command that cannot send its input is refused: %s %#", (method, shape, problem) => {
  const each = { ...list, method, input: z.strictObject(shape) };
  expect(() => operationCommands("shelf", [each])).toThrow(
    `The command "book list" cannot send at: ${problem}.`,
  );
});

it("what the gateway makes of a text, and what is hidden, is sent or left out", () => {
  const input = z.strictObject({
    limit: z.coerce.number().optional(),
    lent: z.stringbool().optional(),
    at: z.object({}).optional().meta({ hidden: true }),
  });
  expect(operationCommands("shelf", [{ ...list, input }])["list"]!.flags).toMatchObject([
    { flag: "--limit <limit>" },
    { flag: "--lent <lent>" },
    {},
    {},
    {},
    {},
  ]);
});
