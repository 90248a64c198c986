import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown, type Plugin } from "rolldown";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import propylon from "../../../core/build/unplugin.ts";
import { connectClient } from "../../../core/testing/index.ts";
import { Folders, serve } from "./kit.ts";

// One starts a process that bundles, which a loaded machine does slowly.
const ENTRY = "virtual:gateway/server";
/** A file with imports that the gateway below does without. */
const IMPORTER = fileURLToPath(
  new URL("../../../plugins/agents/models/provider.ts", import.meta.url),
);

const folders = new Folders();
let project: string;
let config: string;

beforeAll(async () => {
  project = await folders.project({
    "gateway.yaml": "listeners: { main: { port: 0 } }\nplugins: { ./tell.ts: {} }\n",
    "tell.ts": `
import { definePlugin } from "propylon";
export default definePlugin({
  name: "tell",
  setup(gateway) {
    const found = String(globalThis.behindTheEntry);
    gateway.tool("tell", { description: "Tells what it found.", run: () => found });
  },
});
`,
    "entry.ts": `import "${ENTRY}";\nglobalThis.behindTheEntry = "evaluated";\n`,
  });
  config = join(project, "gateway.yaml");
});
afterAll(() => folders.remove());

it("evaluates what stands behind the entry before the gateway starts, where Rollup puts dynamic imports", async () => {
  const plugins = [propylon.rolldown({ config }) as Plugin];
  const build = await rolldown({ input: join(project, "entry.ts"), platform: "node", plugins });
  const file = join(project, "out/server.mjs");
  await build.write({ file, format: "esm", codeSplitting: false });
  await build.close();
  const served = await serve(await folders.moved(join(project, "out")), {}, [config]);
  const client = await connectClient(`${served.url}/mcp`);
  const { content } = await client.callTool({ name: "tell" });
  expect(content).toEqual([{ type: "text", text: "evaluated" }]);
  await client.close();
  await served.stop();
});

describe.each(["webpack", "rspack"] as const)("%s", (name) => {
  it("finds the entry, although webpack takes virtual: for a scheme", async () => {
    const { resolve } = apply(name);
    expect(await resolve(ENTRY)).toBe(`./${ENTRY}`);
    expect(await resolve("./words.ts")).toBe("./words.ts");
  });

  it("leaves imports of what the gateway does without to Node, as imports or as require", async () => {
    const { external } = apply(name);
    const contextInfo = { issuer: IMPORTER };
    const ask = (request: string, dependencyType = "esm"): Promise<string | undefined> =>
      external({ request, contextInfo, dependencyType });
    expect(await ask("@ai-sdk/anthropic")).toBe("module-import @ai-sdk/anthropic");
    expect(await ask("@ai-sdk/anthropic", "commonjs")).toBe("node-commonjs @ai-sdk/anthropic");
    expect(await ask("undici")).toBeUndefined();
    expect(await ask("propylon")).toBeUndefined();
    expect(await external({ request: ENTRY, contextInfo: { issuer: "" } })).toBeUndefined();
  });
});

describe("farm", () => {
  it("finds the entry, which Farm takes for a path", async () => {
    expect(await loadByFarm(`./${ENTRY}`)).toContain("import { serve }");
  });

  it("has a module that fails when it is imported in place of what the gateway does without", async () => {
    const text = await loadByFarm("@ai-sdk/anthropic", IMPORTER);
    const imported = import(`data:text/javascript,${encodeURIComponent(text)}`);
    await expect(imported).rejects.toThrow("Cannot find package '@ai-sdk/anthropic'");
    await expect(imported).rejects.toMatchObject({ code: "ERR_MODULE_NOT_FOUND" });
  });
});

type External = (asked: object) => Promise<string | undefined>;

/** The plugin in a compiler that only writes down what it is told. */
function apply(name: "webpack" | "rspack") {
  const taps: ((...words: unknown[]) => unknown)[] = [];
  let external: External | undefined;
  class ExternalsPlugin {
    constructor(_type: string, externals: External) {
      external = externals;
    }
    apply(): void {}
  }
  class VirtualModulesPlugin {
    apply(): void {}
  }
  const hook = { tap: (_: string, run: (typeof taps)[0]) => taps.push(run), tapPromise() {} };
  const hooks = { compilation: hook, make: hook };
  const options = { plugins: [], resolve: {}, module: { rules: [] } };
  const bundler = { ExternalsPlugin, experiments: { VirtualModulesPlugin } };
  const compiler = { options, hooks, webpack: bundler, rspack: bundler };
  propylon[name]({ config }).apply(compiler);
  /** What webpack looks for in place of a request. */
  const resolve = async (request: string): Promise<string> => {
    const asked = { request };
    const before: ((data: object) => unknown)[] = [];
    const quiet = { tapPromise() {} };
    const beforeResolve = { tap: (_: string, run: (typeof before)[0]) => before.push(run) };
    const factory = { hooks: { beforeResolve, resolve: quiet } };
    const compilation = { hooks: { buildModule: { tap() {} } } };
    for (const tap of taps) tap(compilation, { normalModuleFactory: factory });
    for (const run of before) await run(asked);
    return asked.request;
  };
  return { external: external!, resolve };
}

interface FarmPlugin {
  readonly resolve: Executor<{ readonly resolvedPath: string }>;
  readonly load: Executor<{ readonly content: string }>;
}

interface Executor<Result> {
  executor(params: object, context: object): Promise<Result>;
}

/** The text of a module that Farm asks for. */
async function loadByFarm(source: string, importer?: string): Promise<string> {
  const plugin = propylon.farm({ config }) as unknown as FarmPlugin;
  const kind = importer === undefined ? { entry: "server" } : "dynamicImport";
  const { resolvedPath } = await plugin.resolve.executor({ source, importer, kind }, {});
  const { content } = await plugin.load.executor({ resolvedPath, query: [] }, {});
  return content;
}
