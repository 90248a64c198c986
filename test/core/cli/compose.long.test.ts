import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeEach, describe, expect, it } from "vitest";
import { drawChart } from "../../../core/gateway/management/chart.ts";
import { STAGES } from "../../../core/index.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { makeFolder } from "../../kit/folder.ts";
import { useCommands, type Finished } from "./propylon.ts";

const { propylon } = useCommands();

const MODULES = fileURLToPath(new URL("../../../node_modules", import.meta.url));
const SECRET = "0123456789-abcdefghijklmnopqrstuvwxyz";

let cwd: string;
beforeEach(async () => {
  cwd = makeFolder();
});

const write = (name: string, text: string): Promise<void> => writeFile(join(cwd, name), text);
const read = (name: string): Promise<string> => readFile(join(cwd, name), "utf8");
const run = (...words: string[]): Promise<Finished> =>
  propylon(words, { cwd, env: { MODEL_KEY: SECRET } });

const TEAM = `listeners: { main: { port: 0 } }
plugins:
  payloads: { results: { above: 256KiB } }
  ratelimit: {}
  lifecycle: {}
  agents:
    providers: { own: { type: openai, baseUrl: "http://127.0.0.1:1/v1", apiKey: "\${MODEL_KEY}" } }
    agents:
      one: { model: own/m, instructions: Help. }
      two: { model: own/m, instructions: Help. }
`;

describe("check --explain", () => {
  it("says where a plugin comes from, what it is set to, what it takes and brings", async () => {
    await write("gateway.yaml", TEAM);
    const { stdout, code } = await run("check", "--explain", "payloads");
    expect(code).toBe(0);
    for (const line of [
      "Propylon; see node_modules/propylon/docs/plugins/payloads.md",
      "maxSize: 64MiB (default)  # Largest payload before compression; a bare number is bytes.",
      "store: not set",
      "results.above: 256KiB  # Tool results larger",
      "results.ttl: 15m (default)",
      "payloads, to lifecycle",
      "GET /api/agents/:id/payload (caller, on main)",
      "payloads/payload_read",
      "payloads_stored",
    ])
      expect(stdout).toContain(line);
    const lifecycle = await run("check", "--explain", "lifecycle");
    expect(lifecycle.stdout).toMatch(
      /takes +audit \(the gateway\)\n +metrics \(the gateway\)\n +store \(the gateway\)\n +agents \(agents\)\n +payloads \(payloads\)/,
    );
    expect(lifecycle.stdout).toContain("POST /api/agents (caller, mutates, on main)");
  });

  it("says who has the power over the gateway", async () => {
    await write("gateway.yaml", `${TEAM}  admin: {}\n  gating: { state: false }\n  health: {}\n`);
    const { stdout, code } = await run("check", "--explain", "management");
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout:
        "service management\n  comes from    the gateway\n  taken by      gating\n                admin\n",
    });
    const json = await run("check", "--explain", "management", "--json");
    expect(JSON.parse(json.stdout)).toEqual({
      service: "management",
      from: "the gateway",
      takenBy: ["gating", "admin"],
    });
    const gating = await run("check", "--explain", "gating");
    expect(gating.stdout).toMatch(
      /takes +files \(the gateway\)\n +lists \(the gateway\)\n +management \(the gateway\)/,
    );
    expect(gating.stdout).not.toContain("service gating");
    // A plugin and a service of one name are both told.
    await write("gateway.yaml", `${TEAM}  metrics: {}\n`);
    const metrics = await run("check", "--explain", "metrics");
    expect(metrics.stdout).toMatch(
      /^metrics\n(?:.*\n)*\nservice metrics\n +comes from +the gateway\n/,
    );
  });

  it("shows no secret, and as JSON the same", async () => {
    await write("gateway.yaml", TEAM);
    const { stdout, code } = await run("check", "--explain", "agents", "--json");
    expect(code).toBe(0);
    expect(stdout).not.toContain(SECRET);
    const agents = JSON.parse(stdout) as Record<string, unknown>;
    expect(agents).toMatchObject({ key: "agents", provides: "agents" });
    expect(agents["servers"]).toHaveLength(2);
    expect(agents["options"]).toContainEqual(
      expect.objectContaining({ path: "limits.timeout", value: "10m", isSet: false }),
    );
    expect(agents["options"]).toContainEqual(
      expect.objectContaining({
        path: "providers",
        isSet: true,
        value: { own: expect.objectContaining({ apiKey: "***" }) as unknown },
      }),
    );
  });

  it.each([
    ["no config", undefined, "There is no gateway.yaml in this folder."],
    ["no plugins", "listeners: { main: { port: 0 } }\n", 'The config has no plugin "payload".'],
    ["another name", TEAM, 'Did you mean "payloads"?'],
    ["a plugin that does not load", "plugins:\n  ./gone.ts: {}\n", "gateway.yaml:2:3"],
    ["a variable that is not set", "plugins:\n  metrics:\n    prefix: ${NO_SUCH}\n", "NO_SUCH"],
  ])("%s is a sentence and exit code 1", async (_, text, sentence) => {
    if (text !== undefined) await write("gateway.yaml", text);
    const { stderr, stdout, code } = await run("check", "--explain", "payload");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(sentence);
    expect(stderr).not.toMatch(/ at .+:\d+:\d+\)?$/m);
  });
});

describe("graph", () => {
  it("draws the stages in use, who joins them, and who takes whose service", async () => {
    await write("gateway.yaml", TEAM);
    const { stdout, code } = await run("graph");
    expect(code).toBe(0);
    const id = (name: string): string =>
      new RegExp(`(\\w+)\\{\\{"${name}"\\}\\}`).exec(stdout)![1]!;
    expect(stdout).toContain("calls_in --> stage_limit --> stage_dispatch --> servers_out");
    expect(stdout).toContain(`${id("ratelimit")} -.- stage_limit`);
    expect(stdout).toContain(`${id("agents")} -- "agents" --> ${id("lifecycle")}`);
    expect(stdout).toContain(`${id("agents")} --> servers_out`);
  });

  it.each(["gateway.json", "gateway.ts"])("%s without plugins is a chart too", async (name) => {
    const value = '{ "listeners": { "main": { "port": 0 } } }';
    await write(name, name.endsWith(".ts") ? `export default ${value};` : value);
    expect((await run("graph", name)).stdout).toBe(
      'flowchart LR\n  calls_in(["calls"])\n  servers_out[("servers")]\n  calls_in --> servers_out\n',
    );
  });

  it("is Mermaid whatever the names: labels are quoted, and no id is a word of the language", () => {
    const nothing = { hooks: [], routes: [], serverTypes: [], listeners: [], endpoints: [] };
    const plugin = (name: string, from?: string) => ({
      ...nothing,
      key: name,
      name,
      order: 1,
      provides: undefined,
      injects: from === undefined ? [] : [{ service: 'a "b" --> c', from }],
      stages: STAGES,
      servers: [{ name, tools: ["t"] }],
      metrics: [],
    });
    const lines = drawChart([plugin("end"), plugin('call "x" #1\n', "end")])
      .split("\n")
      .slice(1);
    const shape = /^ {2}\w+(?:\(\["[^"]*"\]\)|\[\("[^"]*"\)\]|\["[^"]*"\]|\{\{"[^"]*"\}\})$/;
    const edge = /^ {2}\w+(?: (?:-->|-\.-|-- "[^"]*" -->) \w+)+$/;
    expect(lines.filter((line) => !shape.test(line) && !edge.test(line))).toEqual([]);
    const ids = lines
      .join("\n")
      .replaceAll(/"[^"]*"/g, "")
      .match(/\w+/g)!;
    const words =
      /^(?:call|end|click|href|style|class|classDef|linkStyle|subgraph|graph|default|direction)$/;
    expect(ids.filter((word) => words.test(word))).toEqual([]);
  });
});

describe("plugin new", () => {
  it("adds a plugin that runs, and a test that passes", async () => {
    await write("gateway.yaml", "# mine\nlisteners: { main: { port: 0 } } # any\n");
    await write("package.json", '{ "type": "module" }');
    await symlink(MODULES, join(cwd, "node_modules"));
    const { stdout, code } = await run("plugin", "new", "audit-log");
    expect(code).toBe(0);
    expect(stdout).toContain("plugins/audit-log.ts\ntest/audit-log.test.ts\n");
    expect(await read("gateway.yaml")).toBe(
      "# mine\nlisteners: { main: { port: 0 } } # any\nplugins:\n  ./plugins/audit-log.ts: {}\n",
    );
    expect((await run("check")).stdout).toBe("The config is right.\n");
    expect((await run("check", "--explain", "audit-log")).stdout).toContain(
      "audit-log/audit_log_greet",
    );
    const vitest = join(
      dirname(createRequire(import.meta.url).resolve("vitest/package.json")),
      "vitest.mjs",
    );
    const { VITEST: _vitest, NODE_OPTIONS: _options, ...env } = process.env;
    const patience = `--testTimeout=${PATIENCE * 30_000}`;
    const tested = await promisify(execFile)(process.execPath, [vitest, "run", patience], {
      cwd,
      env: { ...env, NO_COLOR: "1" },
    });
    expect(tested.stdout).toMatch(/Tests +6 passed/);
  });

  it("edits JSON, and for code says what to write", async () => {
    await write("gateway.json", '{"listeners":{"main":{"port":0}}}');
    await run("plugin", "new", "one", "gateway.json");
    expect(JSON.parse(await read("gateway.json"))).toMatchObject({
      plugins: { "./plugins/one.ts": {} },
    });
    const code = "export default { listeners: { main: { port: 0 } } };\n";
    await write("gateway.ts", code);
    const { stdout } = await run("plugin", "new", "two", "gateway.ts");
    expect(stdout).toContain('Now add to the plugins of gateway.ts: "./plugins/two.ts": {}');
    expect(await read("gateway.ts")).toBe(code);
    expect((await readdir(join(cwd, "plugins"))).toSorted()).toEqual(["one.ts", "two.ts"]);
  });

  it.each([
    ["Bad Name", "cannot be the name of a plugin"],
    ["../up", "cannot be the name of a plugin"],
    ["-x", "unknown option"],
    ["metrics", 'A plugin "metrics" comes with Propylon.'],
    ["taken", "plugins/taken.ts is there already."],
  ])("refuses %s and leaves nothing behind", async (name, sentence) => {
    const text = "listeners: { main: { port: 0 } }\n";
    await write("gateway.yaml", text);
    await mkdir(join(cwd, "plugins"));
    await write("plugins/taken.ts", "");
    const { stderr, code } = await run("plugin", "new", name);
    expect(code).toBe(1);
    expect(stderr).toContain(sentence);
    expect(await read("gateway.yaml")).toBe(text);
    expect((await readdir(cwd, { recursive: true })).toSorted()).toEqual([
      "gateway.yaml",
      "plugins",
      "plugins/taken.ts",
    ]);
  });

  it("without a config says where to begin", async () => {
    expect(await run("plugin", "new", "one")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("There is no gateway.yaml in this folder.") as unknown,
    });
    expect(await readdir(cwd)).toEqual([]);
  });
});
