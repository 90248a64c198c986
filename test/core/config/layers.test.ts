import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { GatewayError } from "propylon";
import { beforeEach, describe, expect, it } from "vitest";
import { issuesOf, issueText } from "../../../core/config/issue.ts";
import { ConfigFile } from "../../../core/file/config-file.ts";
import { findConfig, loadConfig } from "../../../core/file/load.ts";
import { valueLines, valuesBelow } from "../../../core/cli/config-values.ts";
import type { ConfigEdit } from "../../../core/config/edit.ts";
import { makeFolder } from "../../kit/folder.ts";

let folder: string;
beforeEach(async () => {
  folder = makeFolder();
});

async function write(files: Readonly<Record<string, string>>): Promise<string> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return join(folder, Object.keys(files)[0]!);
}

async function valuesOf(files: Readonly<Record<string, string>>, environment = {}) {
  return (await loadConfig(await write(files), { environment })).config.values;
}

/** What is wrong, a line for each problem. */
async function problemsOf(
  files: Readonly<Record<string, string>>,
  environment = {},
): Promise<readonly string[]> {
  return new ConfigFile(await write(files), { environment }).load().then(
    () => expect.unreachable("the config was accepted"),
    (error: GatewayError) => issuesOf(error).map(issueText),
  );
}

describe("formats that c12 knows (c12)", () => {
  const SERVER = {
    name: "shop",
    servers: { a: { url: "http://127.0.0.1:1/mcp", timeout: 2_000 } },
  };
  const FORMATS = {
    "gateway.yaml": "name: shop\nservers:\n  a: { url: 'http://127.0.0.1:1/mcp', timeout: 2s }\n",
    "gateway.json":
      '{"name": "shop", "servers": {"a": {"url": "http://127.0.0.1:1/mcp", "timeout": "2s"}}}',
    "gateway.json5":
      "// ours\n{ name: 'shop', servers: { a: { url: 'http://127.0.0.1:1/mcp', timeout: '2s', } } }\n",
    "gateway.jsonc":
      '{ "name": "shop", /* ours */ "servers": { "a": { "url": "http://127.0.0.1:1/mcp", "timeout": "2s" } } }',
    "gateway.toml":
      'name = "shop"\n[servers.a]\nurl = "http://127.0.0.1:1/mcp" # ours\ntimeout = "2s"\n',
    "gateway.config.ts":
      'export default { name: "shop" as string, servers: { a: { url: "http://127.0.0.1:1/mcp", timeout: "2s" } } };\n',
    "gateway.config.mjs":
      'export default () => ({ name: "shop", servers: { a: { url: "http://127.0.0.1:1/mcp", timeout: "2s" } } });\n',
  };
  it.each(Object.entries(FORMATS))("%s is found and read", async (name, text) => {
    const file = await write({ [name]: text });
    expect(findConfig(folder)).toBe(file);
    expect((await loadConfig(file, { environment: {} })).config.values).toMatchObject(SERVER);
  });

  it.each([
    ["gateway.json5", "{\n  name: 'shop',\n  listeners: { main: { portt: 1 } },\n}\n", "3:24"],
    [
      "gateway.json5",
      "{\n  // it's {\n  'listeners': { main: {\n    /* } */ portt: 1 } },\n}\n",
      "4:13",
    ],
    ["gateway.toml", '# it\'s [\nname = "a # b"\n[listeners.main]\nportt = 1\n', "4:1"],
    [
      "gateway.toml",
      'name = """\n[x]\n"""\nlisteners.main = { host = "::1", portt = 1 }\n',
      "4:34",
    ],
    ["gateway.yaml", "listeners:\n  main: { portt: 1 }\n", "2:11"],
  ])("a mistake in %s has its line and column", async (name, text, place) => {
    const [first] = await problemsOf({ [name]: text });
    expect(first).toBe(
      `${name}:${place} Unknown key "portt" in listeners.main. Did you mean "port"?`,
    );
  });

  it.each([
    [
      "gateway.json5",
      "{\n  name: 'top secret,\n}\n",
      /^gateway\.json5:3:1 The file is not valid JSON5 here\./,
    ],
    [
      "gateway.toml",
      'name = "top secret\n',
      /^gateway\.toml:1:\d+ The file is not valid TOML here\./,
    ],
    [
      "gateway.json5",
      "{ name: 'a',\n name: 'b' }",
      /^gateway\.json5:2:2 This key is there twice\./,
    ],
    [
      "gateway.toml",
      "name = 1\nname = 2\n",
      /^gateway\.toml:2:1 The file is not valid TOML here\./,
    ],
    [
      "gateway.toml",
      `name = ${"[".repeat(50_000)}`,
      /^gateway\.toml:1:\d+ The file is not valid TOML/,
    ],
    ["gateway.json5", "[".repeat(50_000), /^gateway\.json5:1:\d+ The file is not valid JSON5/],
  ])("what cannot be parsed in %s is told without its text (%#)", async (name, text, expected) => {
    const [first] = await problemsOf({ [name]: text });
    expect(first).toMatch(expected);
    expect(first).not.toContain("secret");
  });

  it("finds the places of tables, lists of tables and dotted keys in TOML", async () => {
    const text = `[endpoints.a]
path = "/a"
[[x-list]]
n = 1
[[x-list]]
n.m = [ { k = 1 },
  { k = 2 } ]
[endpoints."b.c"]
path = 7
"\\u0070ath2" = 1979-05-27 07:32:00
`;
    const { places } = await import("../../../core/file/formats.ts").then(({ parseFormat }) =>
      parseFormat(text, "gateway.toml"),
    );
    const at = (...path: (string | number)[]): string | undefined => {
      const found = places.find(path);
      return found && `${found.line}:${found.column}`;
    };
    expect([
      at("endpoints", "a", "path"),
      at("x-list", 1, "n", "m", 1, "k"),
      at("endpoints", "b.c", "path"),
      at("endpoints", "b.c", "path2"),
    ]).toEqual(["2:8", "7:9", "9:8", "10:16"]);
  });

  it("accepts a byte order mark before TOML", async () => {
    expect((await valuesOf({ "gateway.toml": "\uFEFFname = 'a'\n" })).name).toBe("a");
  });

  it("reads a date of TOML as the text that it is in YAML", async () => {
    expect((await valuesOf({ "gateway.toml": "name = 1979-05-27\n" })).name).toBe("1979-05-27");
  });
});

describe("layers (extends)", () => {
  it("joins maps, replaces lists, and needs no variable of what is replaced", async () => {
    const values = await valuesOf({
      "gateway.yaml":
        "extends: ./base/gateway.yaml\nservers:\n  a: { args: [c] }\n  b: { command: two }\n",
      "base/gateway.yaml":
        "name: ${NOBODY_SETS_THIS}\nextends: [../x.yaml, ../y.yaml]\nservers:\n  a: { command: one, args: [a, b] }\n",
      "x.yaml": "name: ${NOBODY_SETS_THIS}\nservers: { c: { command: x } }\n",
      "y.yaml": "servers: { c: { command: y, args: [y] } }\n",
    }).catch((error: GatewayError) => issuesOf(error).map(issueText));
    expect(values).toEqual([
      expect.stringContaining("base/gateway.yaml:1:7 The variable NOBODY_SETS_THIS is not set."),
    ]);
    const named = await valuesOf({
      "gateway.yaml": "name: own\nextends: ./base/gateway.yaml\nservers:\n  a: { args: [c] }\n",
    });
    expect(named.name).toBe("own");
    expect(named.servers).toMatchObject({
      a: { command: "one", args: ["c"] },
      c: { command: "x", args: ["y"] },
    });
  });

  it("names the file, line and column of each mistake in three layers", async () => {
    expect(
      await problemsOf({
        "gateway.yaml": "extends: team.toml\nlisteners:\n  main: { portt: 1 }\n",
        "team.toml": 'extends = "base.json5"\n\n[endpoints.a]\npaht = "/mcp"\n',
        "base.json5": "{\n  servers: {\n    a: { command: 'x', timeout: 'never' },\n  },\n}\n",
      }),
    ).toEqual([
      expect.stringMatching(/^gateway\.yaml:3:11 Unknown key "portt" in listeners\.main\./),
      expect.stringMatching(/^base\.json5:3:33 .*"never"/),
      expect.stringMatching(/^team\.toml:4:1 Unknown key "paht" in endpoints\.a\./),
    ]);
  });

  it("reads layers that are code, the config of a folder and of an installed package", async () => {
    const values = await valuesOf({
      "gateway.config.ts":
        'export default { extends: ["./base", "@acme/gateway-base", "./more.ts"] };\n',
      "base/gateway.config.toml": 'name = "from the folder"\n',
      "node_modules/@acme/gateway-base/gateway.yaml": "servers: { p: { command: package } }\n",
      "more.ts":
        'const command: string = "code"; export default { servers: { m: { command } } };\n',
    });
    expect(values).toMatchObject({
      name: "from the folder",
      servers: { p: { command: "package" }, m: { command: "code" } },
    });
  });

  it("fills variables into the names of layers", async () => {
    const files = { "gateway.yaml": "extends: ./${STAGE}.yaml\n", "blue.yaml": "name: blue\n" };
    expect((await valuesOf(files, { STAGE: "blue" })).name).toBe("blue");
    expect(await problemsOf(files)).toEqual([
      expect.stringContaining("gateway.yaml:1:10 The variable STAGE is not set."),
    ]);
  });

  it.each([
    ["https://evil.example/gateway.yaml", "never loaded from a network"],
    ["gh:acme/base", "never loaded from a network"],
    ["npm:base", "never loaded from a network"],
    ["./gone.yaml", 'The layer "./gone.yaml" does not exist.'],
    ["gone", 'The layer "gone" does not exist.'],
    ["./gateway.yaml", 'The layer "./gateway.yaml" extends this file itself.'],
    ["./circle.yaml", 'The layer "./gateway.yaml" extends this file itself.'],
    ["[1]", "extends must be a path or a list of paths."],
    ['""', "extends must be a path or a list of paths."],
    ["{ source: ./a.yaml }", "extends must be a path or a list of paths."],
    ["./gone/", "does not exist"],
    ["./list.yaml", "must be a map of options at its top"],
    ["./empty.yaml", "The file is empty."],
    ["./wrong.yaml", "wrong.yaml:1:4"],
    ["./wrong.ts", "wrong.ts"],
    ["https://user:tok3n@evil.example/x?key=tok3n", "is not a file"],
    ["./folder.yaml", "is a folder"],
  ])("refuses extends: %s", async (name, expected) => {
    const found = await problemsOf({
      "gateway.yaml": `name: a\nextends: ${name}\n`,
      "circle.yaml": "extends: ./gateway.yaml\n",
      "list.yaml": "- a\n",
      "empty.yaml": "# nothing\n",
      "wrong.yaml": "a: {\n",
      "wrong.ts": "export default {;\n",
      "folder.yaml/a.yaml": "",
    });
    expect(found).toHaveLength(1);
    expect(found[0]).not.toContain("tok3n");
    expect(found[0]).toContain(expected);
    expect(found[0]).toMatch(/^[\w.]+:\d+:\d+ |^wrong\.ts/);
  });

  it("has a limit for layers, of which a few double at each step", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [
        `l${index}.yaml`,
        `extends: [./l${index + 1}.yaml, ./l${index + 1}.yaml]\n`,
      ]),
    );
    expect(
      await problemsOf({
        "gateway.yaml": "extends: ./l0.yaml\n",
        ...files,
        "l20.yaml": "name: a\n",
      }),
    ).toEqual([expect.stringContaining("The config has more than 32 layers.")]);
  });

  it("does not set a prototype, and keeps what is commented out below", async () => {
    const found = await problemsOf({
      "gateway.yaml": "extends: ./base.yaml\nservers:\n  # a: {}\n",
      "base.yaml": "servers: { a: { command: x, env: { __proto__: { polluted: '1' } } } }\n",
    });
    expect(found).toEqual([expect.stringContaining("base.yaml:1:")]);
    expect(found[0]).toContain("__proto__");
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("shows the variable in the name of a layer, not its value", async () => {
    const found = await problemsOf(
      { "gateway.yaml": "extends: ./${TOKEN}.yaml\n" },
      { TOKEN: "s3cret" },
    );
    expect(found[0]).toContain('The layer "./${TOKEN}.yaml" does not exist.');
    expect(found[0]).not.toContain("s3cret");
  });

  it("changes a server that a client wrote in a layer, however it is spelt there", async () => {
    const values = await valuesOf({
      "gateway.yaml":
        "extends: ./client.json\nservers:\n  a: { enabled: false, tools: { exclude: [b] } }\n  b: { url: 'http://127.0.0.1:2/mcp' }\n",
      "client.json":
        '{"mcpServers": {"a": {"command": "x", "disabled": false, "disabledTools": ["c"], "autoApprove": []}, "b": {"serverUrl": "http://127.0.0.1:1/mcp"}}}',
    });
    expect(values.servers).toMatchObject({
      a: { command: "x", enabled: false, tools: { exclude: ["b"] } },
      b: { url: "http://127.0.0.1:2/mcp" },
    });
  });

  it("is read again when the config of a folder appears, and when a package comes back", async () => {
    const path = await write({ "gateway.yaml": "extends: [./base, acme]\n" });
    const file = new ConfigFile(path, { environment: {} });
    await expect(file.load()).rejects.toThrow(/does not exist/);
    await write({ "base/gateway.toml": "name = 'a'\n" });
    expect(await file.isChanged()).toBe(true);
    await expect(file.load()).rejects.toThrow(/"acme" does not exist/);
    await write({ "node_modules/acme/gateway.yaml": "log: { level: warn }\n" });
    expect(await file.isChanged()).toBe(true);
    expect((await file.load()).config.values).toMatchObject({ name: "a", log: { level: "warn" } });
  });

  it("is read again when a layer changes, also one that was not there", async () => {
    const path = await write({ "gateway.yaml": "extends: ./base.yaml\n" });
    const file = new ConfigFile(path, { environment: {} });
    await expect(file.load()).rejects.toThrow(/does not exist/);
    expect(await file.isChanged()).toBe(false);
    await write({ "base.yaml": "name: one\n" });
    expect(await file.isChanged()).toBe(true);
    expect((await file.load()).config.values.name).toBe("one");
    await write({ "base.yaml": "name: two\n" });
    expect(await file.isChanged()).toBe(true);
    expect((await file.load()).config.values.name).toBe("two");
  });
});

describe("overrides of an environment", () => {
  const FILES = {
    "gateway.yaml": `extends: ./base.yaml
name: plain
$env: { staging: { name: staged } }
$production: { name: live, servers: { a: { timeout: 9s } } }
`,
    "base.yaml":
      "servers: { a: { command: x, timeout: 1s } }\n$production: { log: { level: warn } }\n",
    ".env": "WHO=plain\nBOTH=plain\n",
    ".env.production": "WHO=live\n",
  };
  it.each([
    [{}, { name: "plain" }],
    [{ NODE_ENV: "staging" }, { name: "staged" }],
    [
      { NODE_ENV: "production" },
      { name: "live", servers: { a: { timeout: 9_000 } }, log: { level: "warn" } },
    ],
  ])("holds in %o", async (environment, expected) => {
    expect(await valuesOf(FILES, environment)).toMatchObject(expected);
  });

  it("takes variables from .env.<NODE_ENV> before .env, and from the process before both", async () => {
    const files = { ...FILES, "gateway.yaml": "name: ${WHO}-${BOTH}\n" };
    expect((await valuesOf(files, {})).name).toBe("plain-plain");
    expect((await valuesOf(files, { NODE_ENV: "production" })).name).toBe("live-plain");
    expect((await valuesOf(files, { NODE_ENV: "production", WHO: "real" })).name).toBe(
      "real-plain",
    );
    expect((await valuesOf(files, { NODE_ENV: "../production" })).name).toBe("plain-plain");
    expect((await valuesOf(files, { NODE_ENV: "env" })).name).toBe("plain-plain");
    expect((await valuesOf(files, { NODE_ENV: "schema" })).name).toBe("plain-plain");
    const named = { ...FILES, ".env": "NODE_ENV=production\n" };
    expect((await valuesOf(named, {})).name).toBe("plain");
  });

  it("has the place of a mistake, and says what an unknown environment may be", async () => {
    expect(
      await problemsOf(
        { "gateway.yaml": "$production:\n  log: { levl: warn }\n" },
        { NODE_ENV: "production" },
      ),
    ).toEqual([expect.stringMatching(/^gateway\.yaml:2:10 Unknown key "levl"/)]);
    expect(
      await problemsOf({ "gateway.yaml": "name: a\n$production: 7\n" }, { NODE_ENV: "production" }),
    ).toEqual([
      expect.stringMatching(/^gateway\.yaml:2:14 \$production must be a map of options\./),
    ]);
    expect(await problemsOf({ "gateway.yaml": "name: a\n$env: [1]\n" })).toEqual([
      expect.stringMatching(/^gateway\.yaml:2:7 \$env must be a map of options\./),
    ]);
    const loaded = await loadConfig(await write({ "gateway.yaml": "name: a\n$prodution: {}\n" }), {
      environment: {},
    });
    expect(loaded.warnings.map(issueText)).toEqual([
      'gateway.yaml:2:1 $prodution holds only where NODE_ENV is "prodution". Did you mean "production"?',
    ]);
  });
});

describe("edits of a config with layers", () => {
  const FILES = {
    "gateway.yaml":
      "extends: ./base.yaml # ours\nservers:\n  own: { command: o }\n$production:\n  timeouts: { grace: 3s } # short\n",
    "base.yaml":
      "timeouts: { default: 5s }\nservers:\n  a:\n    url: https://a.example/mcp\n    headers: { Authorization: Bearer base }\n",
  };
  const ENVIRONMENT = { NODE_ENV: "production" };

  async function edited(
    edits: readonly ConfigEdit[],
    files: Readonly<Record<string, string>> = FILES,
  ): Promise<string> {
    const file = new ConfigFile(await write(files), { environment: ENVIRONMENT });
    file.adopt((await file.load()).config);
    const draft = await file.draft(edits);
    await file.check(draft.text);
    return draft.text;
  }

  it("sets a value of a layer in the file, and one of the override in force there", async () => {
    expect(await edited([{ path: ["timeouts", "default"], value: "7s" }])).toBe(
      `${FILES["gateway.yaml"]}timeouts:\n  default: 7s\n`,
    );
    expect(await edited([{ path: ["timeouts", "grace"], value: "7s" }])).toBe(
      FILES["gateway.yaml"].replace("3s", "7s"),
    );
    expect(
      await edited([{ path: ["servers", "own"], value: undefined, when: "present" }]),
    ).not.toContain("own:");
    expect(
      await edited([
        { path: ["servers", "a", "url"], value: "https://b.example", when: "present" },
      ]),
    ).toContain("a:\n    url: https://b.example");
  });

  const SECRET = "url: https://a.example/mcp, headers: { Authorization: Bearer base }";
  const EVIL = { url: "https://evil.example/mcp" };
  const OWN = "extends: ./base.yaml\n";
  const BASE = { "gateway.yaml": OWN, "base.yaml": `servers: { a: { ${SECRET} } }\n` };
  it.each([
    [
      "a new server of its name",
      "exists",
      { path: ["servers", "a"], value: EVIL, when: "absent" },
      BASE,
    ],
    ["another server of its name", "no_config_mode", { path: ["servers", "a"], value: EVIL }, BASE],
    ["a server without it", "no_config_mode", { path: ["servers", "a"], value: undefined }, BASE],
    ["no servers", "no_config_mode", { path: ["servers"], value: {} }, BASE],
    ["an empty map", "no_config_mode", { path: ["servers", "a", "headers"], value: {} }, BASE],
    [
      "what hid a layer",
      "no_config_mode",
      { path: ["servers", "a"], value: EVIL, when: "present" },
      {
        ...BASE,
        "gateway.yaml": `${OWN}servers: { a: { url: "https://own.example/mcp", headers: { Authorization: Bearer own } } }\n`,
      },
    ],
    [
      "what switched it off",
      "no_config_mode",
      { path: ["servers", "a", "enabled"], value: undefined },
      {
        "gateway.yaml": `${OWN}servers: { a: { enabled: false } }\n`,
        "base.yaml": "servers: { a: { command: x, enabled: true } }\n",
      },
    ],
    [
      "a name of a merge key",
      "exists",
      { path: ["servers", "a"], value: EVIL, when: "absent" },
      { ...BASE, "base.yaml": `x-all: &all { a: { ${SECRET} } }\nservers: { <<: *all }\n` },
    ],
    [
      "an escaped name",
      "exists",
      { path: ["servers", "a"], value: EVIL, when: "absent" },
      {
        "gateway.yaml": "extends: ./base.json5\n",
        "base.json5": "{ servers: { '\\x61': { url: 'https://a.example/mcp' } } }",
      },
    ],
    [
      "a pasted server",
      "exists",
      { path: ["servers", "a"], value: EVIL, when: "absent" },
      { ...BASE, "base.yaml": `mcpServers: { a: { ${SECRET} } }\n` },
    ],
    [
      "an override by its path",
      "no_config_mode",
      { path: ["$production", "servers", "a"], value: EVIL },
      BASE,
    ],
    [
      "the layers",
      "no_config_mode",
      { path: ["extends"], value: "./other.yaml" },
      { ...BASE, "other.yaml": "name: b\n" },
    ],
    [
      "an item of a list",
      "no_config_mode",
      { path: ["servers", "a", "tools", "exclude", 0], value: "drop2" },
      {
        ...BASE,
        "base.yaml": "servers: { a: { command: x, tools: { exclude: [drop, wipe] } } }\n",
      },
    ],
  ] as const)(
    "refuses %s where a layer would still say something",
    async (_, code, edit, files) => {
      await expect(edited([edit], files)).rejects.toMatchObject({ code });
    },
  );

  const one = (text: string) => ({ "gateway.yaml": text });
  it.each([
    [
      "a key of a merge key that stays",
      { path: ["servers", "a", "env", "old"], value: undefined },
      one("x-a: &k { old: v }\nname: a\nservers: { a: { command: x, env: { <<: *k } } }\n"),
    ],
    [
      "a map that another one repeats",
      { path: ["servers", "a", "env", "A"], value: "2" },
      one("servers:\n  a: { command: x, env: &e { A: '1' } }\n  b: { command: y, env: *e }\n"),
    ],
    [
      "a url in another spelling",
      { path: ["servers", "a", "url"], value: undefined },
      one('servers: { a: { serverUrl: "https://a.example/mcp" } }\n'),
    ],
    [
      "tools in another spelling",
      { path: ["servers", "a", "tools", "exclude"], value: undefined },
      one("servers: { a: { command: x, disabledTools: [drop] } }\n"),
    ],
    [
      "a file that extends nothing yet",
      { path: ["extends"], value: "./other.yaml" },
      { ...one("name: a\n"), "other.yaml": `servers: { a: { ${SECRET} } }\n` },
    ],
    [
      "a server that another environment has headers for",
      { path: ["servers", "a"], value: EVIL },
      one(`name: a\n$env: { staging: { servers: { a: { ${SECRET} } } } }\n`),
    ],
  ] as const)("refuses an edit of %s, without any layer", async (_, edit, files) => {
    await expect(edited([edit], files)).rejects.toMatchObject({ code: "no_config_mode" });
  });

  it("switches a server as the layer or the override spells it", async () => {
    const off = { path: ["servers", "a", "enabled"], value: false };
    const overridden = {
      ...BASE,
      "gateway.yaml": `${OWN}$production: { servers: { a: { disabled: false } } }\n`,
    };
    expect(await edited([off], overridden)).toContain("disabled: true");
    const pasted = { ...BASE, "base.yaml": `mcpServers: { a: { ${SECRET}, disabled: false } }\n` };
    const text = await edited([off], pasted);
    expect(await valuesOf({ ...pasted, "gateway.yaml": text })).toMatchObject({
      servers: { a: { enabled: false } },
    });
  });

  it("is judged by the layers as they are now", async () => {
    const file = new ConfigFile(
      await write({ "gateway.yaml": "extends: ./base.yaml\n", "base.yaml": "name: a\n" }),
      { environment: {} },
    );
    file.adopt((await file.load()).config);
    await write(BASE);
    await expect(
      file.draft([{ path: ["servers", "a"], value: EVIL, when: "absent" }]),
    ).rejects.toMatchObject({ code: "exists" });
    await file.load();
    await file.check("name: a\n");
    expect(await file.isChanged()).toBe(false);
  });

  it.each(["gateway.toml", "gateway.json5"])("is refused for %s", async (name) => {
    const text = name.endsWith("toml") ? 'name = "a"\n' : "{ name: 'a' }\n";
    const file = new ConfigFile(await write({ [name]: text }), { environment: {} });
    file.adopt((await file.load()).config);
    await expect(file.draft([{ path: ["name"], value: "b" }])).rejects.toMatchObject({
      code: "no_config_mode",
      message: `${name} is neither YAML nor JSON and cannot be edited here.`,
    });
  });
});

describe("where values come from", () => {
  it("names the layer of each value, of code too", async () => {
    const { config } = await loadConfig(
      await write({
        "gateway.yaml": "extends: [./team.toml, ./base.ts]\nname: own\n",
        "team.toml": '[log]\nlevel = "warn"\n',
        "base.ts": "export default { timeouts: { default: '5s' } };\n",
      }),
      { environment: {} },
    );
    expect(
      ["name", "log.level", "timeouts.default"].flatMap((path) =>
        valueLines(valuesBelow(path, config)),
      ),
    ).toEqual([
      'name: "own" (gateway.yaml:2:7)',
      'log.level: "warn" (team.toml:2:9)',
      'timeouts.default: "5s" (base.ts)',
    ]);
    expect(valueLines(valuesBelow("limits.body", config))).toEqual([
      expect.stringContaining("(default)"),
    ]);
  });
});

describe("what a variable holds is not shown", () => {
  it.each([
    ["npx -y foo --token s3cr3t-value", {}, "${CMD}"],
    ["", { TOK: 'a b "s3cr3t-value' }, "npx foo --token ${TOK}"],
    ["", {}, "npx foo --api-key sk-live-s3cr3t-value-of-a-key"],
  ])("in the next step for a command with arguments (%#)", async (command, more, written) => {
    const found = await problemsOf(
      { "gateway.yaml": `servers: { a: { command: '${written}' } }\n` },
      { CMD: command, ...more },
    );
    expect(found).toEqual([expect.stringContaining("has its arguments in it.")]);
    expect(found[0]).not.toContain("s3cr3t");
  });

  it("as the number that its text stands for", async () => {
    const { config } = await loadConfig(
      await write({ "gateway.yaml": "limits: { sessions: '${MANY}' }\n" }),
      { environment: { MANY: "0077" } },
    );
    expect(config.values.limits.sessions).toBe(77);
    expect(valueLines(valuesBelow("limits.sessions", config))[0]).toContain("***");
  });
});
