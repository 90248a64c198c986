import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { connectClient } from "../../../core/testing/index.ts";
import { useCommands } from "../cli/propylon.ts";
import { bundle, Folders, namesIn, ROOT, run, serve, watchBundle } from "./kit.ts";

const commands = useCommands();
/** Runs `propylon` in a folder. */
const propylon = (
  words: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
) => commands.propylon(words, { cwd, env });

const folders = new Folders();
afterAll(() => folders.remove());

const PLUGIN = `
import { definePlugin } from "propylon";
import { z } from "zod";
export default definePlugin({
  name: "tell",
  config: z.strictObject({ word: z.string().default("nothing") }),
  setup(gateway) {
    gateway.tool("tell", { description: "Tells its word.", run: () => gateway.config.word });
  },
});
`;

const MAIN = "listeners: { main: { port: 0 } }\n";

describe("what fails a build", () => {
  it.each(["propylon", "vite"])("%s tells every problem of the config", async (way) => {
    const cwd = await folders.project({
      "gateway.yaml": `${MAIN}servers:\n  far: { url: "http://127.0.0.1:1/mcp", tiemout: 3s }\nplugins:\n  ./tell.ts: { word: 3 }\n`,
      "tell.ts": PLUGIN,
    });
    const built = await (way === "propylon" ? propylon(["build"], cwd) : bundle(way, cwd));
    expect(built.code).toBe(1);
    expect(built.stderr).toContain(
      'gateway.yaml:3:41 Unknown key "tiemout" in servers.far. Did you mean "timeout"?',
    );
    expect(built.stderr).not.toMatch(/^\s+at .*core\/(?:build|config)/m);
    expect(await namesIn(join(cwd, ".output"))).toEqual([]);
  });

  it("leaves an earlier build as it was", async () => {
    const cwd = await folders.project({
      "gateway.yaml": `${MAIN}plugins: { ./tell.ts: {} }\n`,
      "tell.ts": `import "./missing.ts";\n${PLUGIN}`,
      "missing.ts": "export {};\n",
    });
    expect(await propylon(["build"], cwd)).toMatchObject({ code: 0, stderr: "" });
    const before = await readFile(join(cwd, ".output/server.mjs"));
    // Resolved where it is checked, but nowhere to be found for the bundler.
    await writeFile(
      join(cwd, "tell.ts"),
      `export const load = () => import("no-such-package");\n${PLUGIN}`,
    );
    const failed = await propylon(["build"], cwd);
    expect(failed).toMatchObject({ code: 1, stdout: "" });
    expect(failed.stderr).toContain("no-such-package");
    expect(failed.stderr).toContain("Correct what it names and build again.");
    expect(await namesIn(join(cwd, ".output"))).toEqual(["gateway.yaml", "server.mjs"]);
    expect(before.equals(await readFile(join(cwd, ".output/server.mjs")))).toBe(true);
  });

  it("says which packages a build needs", async () => {
    const cwd = await folders.project({ "gateway.yaml": MAIN, "hide.mjs": HIDE });
    const main = join(cwd, "node_modules/propylon/dist/plugins/cli.js");
    const built = await run(["--import", "./hide.mjs", main, "build"], cwd);
    expect(built.code).toBe(1);
    expect(built.stderr).toBe(
      "A build needs the packages rolldown and unplugin. Install them: npm install -D rolldown unplugin.\n",
    );
    expect(await namesIn(join(cwd, ".output"))).toEqual([]);
  });

  it("says which package a plugin needs with its options", async () => {
    const needing = PLUGIN.replace(
      "setup(",
      'needs: () => ({ packages: ["left-pad-of-2016"] }),\n  setup(',
    );
    const cwd = await folders.project({
      "gateway.yaml": `${MAIN}plugins: { ./tell.ts: {} }\n`,
      "tell.ts": needing,
    });
    const built = await propylon(["build"], cwd);
    expect(built.code).toBe(1);
    expect(built.stderr).toBe(
      "The plugin ./tell.ts needs with these options what is not installed: left-pad-of-2016. Run npm install left-pad-of-2016, then build again.\n",
    );
  });

  it("says where a folder cannot be written", async () => {
    const cwd = await folders.project({ "gateway.yaml": MAIN });
    const built = await propylon(["build", "--out", "gateway.yaml"], cwd);
    expect(built.code).toBe(1);
    expect(built.stderr).toContain("The build cannot be written (EEXIST).");
  });
});

/** Makes the bundler look as if it was not installed. */
const HIDE = `
import { register } from "node:module";
register("data:text/javascript," + encodeURIComponent(\`
  export async function resolve(id, context, next) {
    if (id === "rolldown" || id === "unplugin")
      throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
    return next(id, context);
  }\`));
`;

describe("variables that are not set while building", () => {
  it("may stand for a URL, a port, a switch, a duration and a key", async () => {
    const cwd = await folders.project({
      "gateway.yaml": `
listeners: { main: { port: "\${PORT}" } }
auth: { apiKey: "\${GATEWAY_KEY}" }
management: { mutations: "\${MUTATIONS}" }
servers:
  far: { url: "\${FAR_URL}", timeout: "\${FAR_TIMEOUT}", headers: { Authorization: "Bearer \${TOKEN}" } }
plugins: { ./tell.ts: { word: "\${WORD}" } }
`,
      "tell.ts": PLUGIN,
    });
    const built = await propylon(["build"], cwd);
    expect(built).toMatchObject({ code: 0, stderr: "" });
    const output = await folders.moved(join(cwd, ".output"));
    const config = await readFile(join(output, "gateway.yaml"), "utf8");
    expect(config).toContain("${FAR_URL}");
    const unset = await run(["server.mjs"], output, { PORT: "0" });
    expect(unset.code).toBe(1);
    expect(unset.stderr).toContain("The variable GATEWAY_KEY is not set.");
  });

  it("are named where nothing can stand for them", async () => {
    const cwd = await folders.project({ "gateway.yaml": `${MAIN}log: { level: "\${LEVEL}" }\n` });
    const built = await propylon(["build"], cwd);
    expect(built.code).toBe(1);
    expect(built.stderr).toMatch(/^gateway\.yaml:2:\d+ .*log\.level/);
    expect(built.stderr).toContain(
      "A variable in it is not set: set it, or write ${NAME:-default}.",
    );
    expect(await propylon(["build"], cwd, { LEVEL: "info" })).toMatchObject({ code: 0 });
  });
});

describe("optional packages", () => {
  it("are in a build when the config selects them, and only then", async () => {
    const agents = (type: string): string =>
      `${MAIN}agents:\n  clerk: { title: Clerk, description: Works., instructions: Work. }\nplugins:\n  agents: { providers: { main: { type: ${type}, apiKey: "\${KEY}", baseUrl: "http://127.0.0.1:1/v1" } }, model: main/x }\n`;
    const imports = async (yaml: string): Promise<readonly string[]> => {
      const cwd = await folders.project({ "gateway.yaml": yaml });
      expect(await propylon(["build", "--readable"], cwd)).toMatchObject({ code: 0, stderr: "" });
      const text = await readFile(join(cwd, ".output/server.mjs"), "utf8");
      const optional = [
        "ai",
        "@ai-sdk/openai-compatible",
        "@ai-sdk/anthropic",
        "@nats-io/jetstream",
      ];
      return optional.filter(
        (name) =>
          text.includes(`node_modules/${name}/dist/`) || text.includes(`node_modules/${name}/lib/`),
      );
    };
    expect(await imports(agents("anthropic"))).toEqual(["ai", "@ai-sdk/anthropic"]);
    expect(await imports(`${MAIN}plugins: { a2a: {}, gating: {} }\n`)).toEqual([]);
    expect(await imports(`${MAIN}plugins: { sidecar: {} }\n`)).toEqual(["@nats-io/jetstream"]);
  });
});

describe("a config that is code", () => {
  it("is part of the build and reads the environment when it starts", async () => {
    const cwd = await folders.project({
      "gateway.ts": `export default { listeners: { main: { port: 0 } }, plugins: { "./tell.ts": { word: process.env.WORD ?? "unset" } } };\n`,
      "tell.ts": PLUGIN,
    });
    expect(await propylon(["build"], cwd, { WORD: "built" })).toMatchObject({ code: 0 });
    expect(await namesIn(join(cwd, ".output"))).toEqual(["server.mjs"]);
    const served = await serve(await folders.moved(join(cwd, ".output")), { WORD: "started" });
    const client = await connectClient(`${served.url}/mcp`);
    const { content } = await client.callTool({ name: "tell" });
    expect(content).toEqual([{ type: "text", text: "started" }]);
    await client.close();
    expect(await served.stop()).toBe(0);
  });
});

describe("a config with layers", () => {
  it("has them in the build, and reads those beside the config before them", async () => {
    const cwd = await folders.project({
      "app/gateway.yaml": "extends: [./words.ts, ../base.toml]\n",
      "app/words.ts":
        'export default { plugins: { "./tell.ts": { word: process.env.WORD ?? "unset" } } };\n',
      "app/tell.ts": PLUGIN,
      "base.toml": "name = 'built'\n[listeners.main]\nport = 0\n",
    });
    const app = join(cwd, "app");
    expect(await propylon(["build"], app, { WORD: "built" })).toMatchObject({
      code: 0,
      stderr: "",
    });
    const moved = await folders.moved(join(app, ".output"));
    expect(await namesIn(moved)).toEqual(["gateway.yaml", "server.mjs"]);
    const served = await serve(moved, { WORD: "started" });
    const client = await connectClient(`${served.url}/mcp`);
    const { content } = await client.callTool({ name: "tell" });
    expect(content).toEqual([{ type: "text", text: "started" }]);
    expect(client.getServerVersion()?.name).toBe("built");
    await client.close();
    expect(await served.stop()).toBe(0);
  });
});

describe("bundlers that watch", () => {
  it.each(["rolldown", "vite"])("%s builds again when the config changes", async (bundler) => {
    const cwd = await folders.project({
      "gateway.yaml": `${MAIN}plugins: { ./tell.ts: {} }\n`,
      "tell.ts": PLUGIN,
    });
    const watching = watchBundle(bundler, cwd);
    try {
      const lines = watching.stdout!.setEncoding("utf8")[Symbol.asyncIterator]();
      expect((await lines.next()).value).toBe("built\n");
      const before = await readFile(join(cwd, ".output/server.mjs"), "utf8");
      expect(before.includes("plugins/metrics")).toBe(false);
      await writeFile(
        join(cwd, "gateway.yaml"),
        `${MAIN}plugins: { metrics: {}, ./tell.ts: {} }\n`,
      );
      // How many builds that takes is the watcher's affair: it may see the file while it is being written.
      const hasMetrics = async (): Promise<boolean> =>
        (await readFile(join(cwd, ".output/server.mjs"), "utf8").catch(() => "")).includes(
          "plugins/metrics",
        );
      await expect.poll(hasMetrics).toBe(true);
    } finally {
      watching.kill();
    }
  });
});

it("a server type brings its plugin into the build, and finds it there", async () => {
  const entry = `{ type: openapi, spec: ./pets.json, baseUrl: "http://127.0.0.1:1" }`;
  const cwd = await folders.project({ "gateway.yaml": `${MAIN}servers: { pets: ${entry} }\n` });
  expect(await propylon(["build", "--readable"], cwd)).toMatchObject({ code: 0, stderr: "" });
  const text = await readFile(join(cwd, ".output/server.mjs"), "utf8");
  expect(text).toContain("plugins/rest/server");
  expect(text).not.toContain("plugins/openapi/");
  const served = await serve(join(cwd, ".output"), {});
  expect(await served.stop()).toBe(0);
});

it("a plugin that a module beside the config hands on is whole in the build", async () => {
  const team = `
    providers: { local: { type: openai-compatible, baseUrl: "http://127.0.0.1:1/v1" } }
    model: local/none
    agents: { helper: { instructions: You help. } }
`;
  const cwd = await folders.project({
    "gateway.yaml": `${MAIN}plugins:\n  ./team.ts:${team}`,
    "team.ts": 'export { default } from "propylon/plugins/agents";\n',
  });
  for (const name of ["ai", "@ai-sdk"])
    await symlink(join(ROOT, "node_modules", name), join(cwd, "node_modules", name));
  expect(await propylon(["build"], cwd)).toMatchObject({ code: 0, stderr: "" });
  const served = await serve(await folders.moved(join(cwd, ".output")));
  await served.stop();
});

it("a store in a file runs from a build, with the package of native code beside it", async () => {
  const cwd = await folders.project({ "gateway.yaml": `${MAIN}store: sqlite:./gateway.db\n` });
  await symlink(join(ROOT, "node_modules/libsql"), join(cwd, "node_modules/libsql"));
  expect(await propylon(["build"], cwd)).toMatchObject({ code: 0, stderr: "" });
  const text = await readFile(join(cwd, ".output/server.mjs"), "utf8");
  // Not toMatch, which would print all of it.
  expect(/import\(["'`]libsql["'`]\)/.test(text)).toBe(true);
  const served = await serve(join(cwd, ".output"), {});
  expect(await served.stop()).toBe(0);
  expect(await namesIn(join(cwd, ".output"))).toContain("gateway.db");
});
