import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { check } from "../../../core/loading/check.ts";
import { ConfigFile } from "../../../core/loading/file.ts";
import { issuesOf, issueText } from "../../../core/config/issue.ts";
import { parseConfig } from "../../../core/loading/parse.ts";
import { toGatewayError } from "../../../core/kit/errors.ts";
import { createGateway, definePlugin } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";

/** Options at the top, in a group that has gone, in a group that stays, below names and in lists. */
const former = {
  most: "maxRooms",
  "keep.count": "retention.maxGuests",
  "keep.age": "retention.age",
  "tasks.time": "tasks.timeout",
  "rooms.<name>.seats": "rooms.<name>.maxSeats",
  "rooms.<name>.beds[].age": "rooms.<name>.beds[].retention",
};

const rooms = definePlugin({
  name: "rooms",
  section: { key: "halls", option: "rooms" },
  formerOptions: former,
  formerServerOptions: { hall: { poll: "pollInterval" } },
  serverTypes: { hall: z.strictObject({ pollInterval: z.int().max(9).default(2) }) },
  config: z.strictObject({
    maxRooms: z.int().max(9).default(1),
    retention: z
      .strictObject({ maxGuests: z.int().max(9).optional(), age: z.int().max(9).default(2) })
      .prefault({}),
    tasks: z
      .strictObject({ timeout: z.int().max(9).optional(), name: z.string().optional() })
      .prefault({}),
    rooms: z
      .record(
        z.string(),
        z.strictObject({
          maxSeats: z.int().max(9).optional(),
          beds: z.array(z.strictObject({ retention: z.int().max(9).optional() })).optional(),
        }),
      )
      .default({}),
  }),
  setup(gateway) {
    gateway.serverType("hall", { create: () => expect.unreachable() });
    gateway.tool("options", {
      description: "Tells its options.",
      input: z.object({}),
      run: () => JSON.stringify(gateway.config),
    });
  },
});

const resolver = { names: [], resolve: () => rooms };

async function optionsOf(options: Record<string, unknown>): Promise<unknown> {
  const config = { plugins: { mcp: false, servers: false, tasks: false, rooms: options } };
  return (await check(await parseConfig(config, resolver), resolver)).plugins[0]!.options;
}

async function write(yaml: string): Promise<ConfigFile> {
  const folder = await mkdtemp(join(tmpdir(), "former-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "gateway.yaml");
  await writeFile(file, yaml);
  return new ConfigFile(file, { plugins: { rooms }, environment: { SEATS: "12", AGE: "3" } });
}

const problemsOf = async (yaml: string): Promise<readonly string[]> =>
  (await write(yaml)).load().then(
    () => [],
    (thrown: unknown) => issuesOf(toGatewayError(thrown)).map(issueText),
  );

/** The same options twice: with names of before wherever the choice says so, and as they are named now. */
const twins = fc
  .record({
    values: fc.record(
      {
        rooms: fc.nat(9),
        guests: fc.nat(9),
        age: fc.nat(9),
        time: fc.nat(9),
        name: fc.string(),
        seats: fc.dictionary(fc.stringMatching(/^[a-z<>[\]]{1,6}$/), fc.nat(9), { maxKeys: 3 }),
        beds: fc.array(fc.nat(9), { maxLength: 3 }),
      },
      { requiredKeys: [] },
    ),
    isOld: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
  })
  .map(({ values, isOld }) => {
    const isNow = isOld.map(() => false);
    return [named(values, isOld), named(values, isNow)] as const;
  });

interface Values {
  readonly rooms?: number;
  readonly guests?: number;
  readonly age?: number;
  readonly time?: number;
  readonly name?: string;
  readonly seats?: Record<string, number>;
  readonly beds?: readonly number[];
}

/** @param isOld whether each option of {@link former} has its old name */
function named(values: Values, isOld: readonly boolean[]): Record<string, unknown> {
  const { rooms: most, guests, age, time, name, seats, beds } = values;
  const one = (at: number, before: string, now: string, value: unknown): object =>
    value === undefined ? {} : { [isOld[at] ? before : now]: value };
  const keep = {
    ...(isOld[1] && one(1, "count", "", guests)),
    ...(isOld[2] && one(2, "age", "", age)),
  };
  const retention = {
    ...(!isOld[1] && one(1, "", "maxGuests", guests)),
    ...(!isOld[2] && one(2, "", "age", age)),
  };
  const room = (value: number): object => ({
    ...one(4, "seats", "maxSeats", value),
    ...(beds && { beds: beds.map((bed) => one(5, "age", "retention", bed)) }),
  });
  return {
    ...one(0, "most", "maxRooms", most),
    ...(Object.keys(keep).length > 0 && { keep }),
    ...(Object.keys(retention).length > 0 && { retention }),
    tasks: { ...one(3, "time", "timeout", time), ...(name !== undefined && { name }) },
    ...(seats && {
      rooms: Object.fromEntries(Object.entries(seats).map(([key, each]) => [key, room(each)])),
    }),
  };
}

describe("options under a name of before", () => {
  it("have the meaning of the present ones", async () => {
    await fc.assert(
      fc.asyncProperty(twins, async ([before, now]) => {
        expect(await optionsOf(before)).toEqual(await optionsOf(now));
      }),
      { numRuns: 200 },
    );
  });

  it("are told with their place and the present name", async () => {
    const file = await write(
      "servers:\n  big: { type: hall, poll: 3 }\nhalls:\n  red:\n    seats: 4\nplugins:\n  rooms:\n    keep:\n      age: ${AGE}\n",
    );
    const { plugins, deprecated, config } = await file.load();
    expect(plugins.at(-1)!.options).toMatchObject({
      retention: { age: 3 },
      rooms: { red: { maxSeats: 4 } },
    });
    expect(config.entries.get("big")).toEqual({ pollInterval: 3 });
    const shown = deprecated.map((issue) => issueText(issue).replace(/^\S*gateway/, "gateway"));
    expect(shown).toMatchInlineSnapshot(`
      [
        "gateway.yaml:9:7 plugins.rooms.keep.age is called plugins.rooms.retention.age now. Rename it: the old name goes with 0.3.",
        "gateway.yaml:5:5 halls.red.seats is called halls.red.maxSeats now. Rename it: the old name goes with 0.3.",
        "gateway.yaml:2:22 servers.big.poll is called servers.big.pollInterval now. Rename it: the old name goes with 0.3.",
      ]
    `);
  });

  it("are told by the log at the start and at a change, whatever the config came as", async () => {
    const lines: { readonly msg: string }[] = [];
    const log = pino({ level: "warn" }, { write: (line) => void lines.push(JSON.parse(line)) });
    const gateway = await createGateway(
      { plugins: { rooms: { most: 3 } } },
      { plugins: { rooms }, log },
    );
    onTestFinished(() => gateway.close());
    expect(lines.map(({ msg }) => msg)).toMatchInlineSnapshot(`
      [
        "the config (plugins.rooms.most) plugins.rooms.most is called plugins.rooms.maxRooms now. Rename it: the old name goes with 0.3.",
      ]
    `);
    await gateway.apply({ plugins: { rooms: { keep: { count: 3 } } } });
    expect(lines).toHaveLength(2);
  });

  it("stay in a file that is edited, and work with what is written beside them", async () => {
    const { path } = await write("plugins:\n  rooms:\n    keep: { count: 4 } # not many\n");
    const { gateway, client } = await setupGateway({ file: path, plugins: [rooms] });
    await gateway.control.edit([{ path: ["plugins", "rooms", "retention"], value: { age: 5 } }]);
    const { content } = await client.callTool({ name: "options", arguments: {} });
    expect(JSON.parse((content as [{ text: string }])[0].text)).toMatchObject({
      retention: { maxGuests: 4, age: 5 },
    });
    expect(await readFile(path, "utf8")).toContain("keep: { count: 4 } # not many");
  });

  it("are refused beside the present one, at both places", async () => {
    expect(
      await problemsOf(
        "plugins:\n  rooms:\n    most: 3\n    maxRooms: 4\n    retention: 5\n    keep: { age: 1 }\n",
      ),
    ).toMatchInlineSnapshot(`
      [
        "gateway.yaml:3:5 plugins.rooms.most is the old name of plugins.rooms.maxRooms, which is set too (gateway.yaml:4:5). Keep plugins.rooms.maxRooms, remove plugins.rooms.most.",
        "gateway.yaml:5:16 plugins.rooms.retention must be a map. See the page of the plugin rooms for what can stand here.",
        "gateway.yaml:6:13 plugins.rooms.keep.age is the old name of plugins.rooms.retention.age, which is set too (gateway.yaml:5:16). Keep plugins.rooms.retention.age, remove plugins.rooms.keep.age.",
      ]
    `);
  });

  it("keep their place in what is said of their values", async () => {
    expect(
      await problemsOf(
        "halls:\n  red: { seats: '${SEATS}' }\nplugins:\n  rooms:\n    keep:\n      count: many\n      agee: 3\n",
      ),
    ).toMatchInlineSnapshot(`
      [
        "gateway.yaml:2:17 halls.red.seats must be at most 9. See the page of the plugin rooms for what can stand here.",
        "gateway.yaml:5:5 Unknown key "keep" in plugins.rooms. Known keys here: maxRooms, retention, tasks, rooms.",
        "gateway.yaml:6:14 plugins.rooms.keep.count must be a number. See the page of the plugin rooms for what can stand here.",
      ]
    `);
    expect(await problemsOf("plugins: { rooms: { keep: {} } }\n")).toEqual([]);
  });
});
