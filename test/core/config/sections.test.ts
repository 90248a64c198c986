import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createGateway, definePlugin, type GatewayConfigInput, toGatewayError } from "propylon";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { ConfigFile } from "../../../core/file/config-file.ts";
import { issuesOf, issueText } from "../../../core/config/issue.ts";
import { configJsonSchema } from "../../../core/gateway/check/jsonschema.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { makeFolder } from "../../kit/folder.ts";

/** A plugin in a file of its own, whose rooms are tools. */
const ROOMS = `import { definePlugin } from "propylon";
import { z } from "zod";

export default definePlugin({
  name: "rooms",
  section: "rooms",
  config: z.strictObject({ greeting: z.string().default("Welcome"), seats: z.int().max(9).default(1), host: z.string().optional() }),
  needs: ({ host }) => ({ references: host === undefined ? [] : [{ path: ["host"], kind: "server", name: host, by: "The room" }] }),
  setup(gateway) {
    const { greeting, seats } = gateway.config;
    gateway.tool("enter", { description: "Enters.", input: z.object({}), run: () => greeting + ", " + seats });
  },
});
`;

async function write(yaml: string, plugin = ROOMS): Promise<string> {
  const folder = makeFolder({
    "rooms.ts": plugin,
    "more.ts": plugin.replace('name: "rooms"', 'name: "more"'),
  });
  const file = join(folder, "gateway.yaml");
  await writeFile(file, yaml);
  return file;
}

async function problemsOf(yaml: string, plugin?: string): Promise<readonly string[]> {
  const file = new ConfigFile(await write(yaml, plugin), { environment: { SEATS: "12" } });
  return file.load().then(
    () => [],
    (thrown: unknown) => issuesOf(toGatewayError(thrown)).map(issueText),
  );
}

describe("a section of a plugin", () => {
  it("has its options, through start, edit and reload", async () => {
    const file = await write(
      "plugins: { ./rooms.ts: {} }\nrooms:\n  seats: 3 # so few\n  greeting: ${GREETING:-Hi}\n",
    );
    const { gateway, client } = await setupGateway({ file });
    const enter = async (): Promise<unknown> =>
      (await client.callTool({ name: "enter", arguments: {} })).content;
    expect(await enter()).toEqual([{ type: "text", text: "Hi, 3" }]);
    await (await gateway.manage()).edit([{ path: ["rooms", "seats"], value: 4 }]);
    expect(await enter()).toEqual([{ type: "text", text: "Hi, 4" }]);
    expect(await readFile(file, "utf8")).toBe(
      "plugins: { ./rooms.ts: {} }\nrooms:\n  seats: 4 # so few\n  greeting: ${GREETING:-Hi}\n",
    );
    await gateway.apply({ ...gateway.written });
    expect(await enter()).toEqual([{ type: "text", text: "Hi, 4" }]);
    await (
      await gateway.manage()
    ).edit([{ path: ["servers", "a"], value: { url: "http://127.0.0.1:9" } }]);
    expect(await readFile(file, "utf8")).toContain("rooms:\n  seats: 4 # so few\n");
  });

  it("has its problems told where they stand, under the path that was written", async () => {
    const yaml = "plugins: { ./rooms.ts: {} }\nrooms:\n  seats: 12\n  greting: Hi\n";
    expect((await problemsOf(yaml)).toSorted()).toEqual([
      expect.stringContaining(":3:10 rooms.seats must be at most 9."),
      expect.stringContaining(':4:3 Unknown key "greting" in rooms. Did you mean "greeting"?'),
    ]);
    expect(await problemsOf("plugins: { ./rooms.ts: {} }\nrooms: { seats: '${SEATS}' }\n")).toEqual(
      [expect.stringContaining(":2:17 rooms.seats must be at most 9.")],
    );
    expect(await problemsOf("plugins: { ./rooms.ts: {} }\nrooms: { host: bar }\n")).toEqual([
      expect.stringContaining(':2:16 The room names a server "bar" that does not exist.'),
    ]);
  });

  it("is known by its plugin only: a typo, one of nobody, one beside a plugin that does not load", async () => {
    const own = "plugins: { ./rooms.ts: {} }\n";
    expect(await problemsOf(`${own}roms: {}\n`)).toEqual([
      expect.stringContaining(
        ':2:1 Unknown key "roms" at the top of the config. Did you mean "rooms"?',
      ),
    ]);
    expect(await problemsOf("agentz: {}\nserverz: {}\nlog: { level: loud }\n")).toEqual([
      expect.stringContaining(
        ':1:1 Unknown key "agentz" at the top of the config. Did you mean "agents"?',
      ),
      expect.stringContaining(
        ':2:1 Unknown key "serverz" at the top of the config. Did you mean "servers"?',
      ),
      expect.stringContaining(":3:15 log.level must be one of"),
    ]);
    expect(await problemsOf("rooms: {}\n")).toEqual([
      expect.stringContaining(':1:1 Unknown key "rooms" at the top of the config.'),
    ]);
    expect(await problemsOf("gating: {}\n")).toEqual([
      expect.stringContaining(':1:1 Unknown key "gating" at the top of the config.'),
    ]);
    expect(await problemsOf(`${own}rooms: {}\n`, "throw new Error('torn');\n")).toEqual([
      expect.stringMatching(/:1:12 .*torn/),
    ]);
  });

  it("cannot stand beside the same options in plugins", async () => {
    expect(
      await problemsOf("rooms: { seats: 2 }\nplugins: { ./rooms.ts: { seats: 3 } }\n"),
    ).toEqual([
      expect.stringContaining(
        ':1:1 rooms is set here and in plugins["./rooms.ts"] (gateway.yaml:2:12).',
      ),
    ]);
  });

  it("cannot be claimed by two plugins, nor be one of the core", async () => {
    expect(await problemsOf("plugins: { ./rooms.ts: {}, ./more.ts: {} }\n")).toEqual([
      expect.stringContaining(':1:28 The plugins "rooms" and "more" claim the section rooms.'),
    ]);
    const greedy = ROOMS.replace('section: "rooms"', 'section: "servers"');
    expect(await problemsOf("plugins: { ./rooms.ts: {} }\n", greedy)).toEqual([
      expect.stringContaining(
        ':1:12 The plugin "rooms" claims the section servers, which the gateway has itself.',
      ),
    ]);
  });

  it("may be one option of several, of a plugin at hand", async () => {
    const shelf = definePlugin({
      name: "shelf",
      section: { key: "books", option: "books" },
      config: z.strictObject({
        books: z.record(z.string(), z.int()).default({}),
        open: z.boolean().default(false),
      }),
      setup(gateway) {
        expect(gateway.config).toEqual({ books: { a: 1 }, open: true });
      },
    });
    const config = { books: { a: 1 }, plugins: { shelf: { open: true } } } as GatewayConfigInput;
    const gateway = await createGateway(config, { plugins: { shelf } });
    onTestFinished(() => gateway.close());
    expect.assertions(3);
    expect(gateway.config.plugins).toEqual({ shelf: { books: { a: 1 }, open: true } });
    const { properties } = configJsonSchema({ shelf }) as { properties: Record<string, object> };
    expect(properties["books"]).toMatchObject({ additionalProperties: {} });
  });
});
