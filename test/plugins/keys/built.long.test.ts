import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Plugin, rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import unplugin from "../../../core/build/unplugin.ts";
import { Folders, propylon, run, type Served, serve, succeed } from "../../core/build/kit.ts";

// A build is one file, and what is beside it or in its environment may turn credentials on that it has no code to check.

const KEY = "the-only-key-that-gets-in";
const HASH = `sha256:${"0".repeat(64)}`;
const MAIN = "listeners: { main: { port: 0 } }\n";
const OFF = "plugins: { keys: false }\n";
const UNCHECKED = /Nothing checks auth\.(?:apiKey|keys|jwt): the plugin keys is off/;
const ABSENT = /The plugin \\?"keys\\?" is not in this build/;

const folders = new Folders();
afterAll(() => folders.remove());

/** What a build of these files wrote, where nothing else is. */
async function build(
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const cwd = await folders.project(files);
  succeed(await propylon(["build", "--readable"], cwd, env));
  return folders.moved(join(cwd, ".output"));
}

/** Why a build does not start; it never says that it listens. */
async function refusalOf(
  folder: string,
  env: Readonly<Record<string, string>> = {},
  words: readonly string[] = [],
): Promise<string> {
  const { code, stdout, stderr } = await run(["server.mjs", ...words], folder, env);
  expect(code).toBe(1);
  expect(stdout + stderr).not.toContain("gateway ready");
  expect(stdout + stderr).not.toContain(KEY);
  return stderr;
}

const write = (folder: string, files: Readonly<Record<string, string>>): Promise<unknown> =>
  Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));

const status = async ({ url }: Served, key?: string): Promise<number> => {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return (await fetch(`${url}/mcp`, { headers })).status;
};

describe("a build without keys", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await build({ "gateway.yaml": MAIN + OFF });
  });

  it("serves what has no credentials", async () => {
    await write(folder, { "gateway.yaml": MAIN + OFF });
    const served = await serve(folder);
    expect(await status(served)).toBe(406);
    expect(await served.stop()).toBe(0);
  });

  it.each([
    ["a key", `auth: { apiKey: ${KEY} }`],
    ["a key by a variable", 'auth: { apiKey: "${KEY}" }'],
    ["keys", `auth: { keys: { ci: { role: caller, hash: "${HASH}" } } }`],
    ["a hash by a variable", 'auth: { keys: { ci: { role: caller, hash: "${HASH}" } } }'],
    ["tokens", `auth: { jwt: { secret: "${"s".repeat(40)}", issuer: us, audience: here } }`],
    ["an override for production", `$production: { auth: { apiKey: ${KEY} } }`],
    ["an override of another environment", `$env: { prod: { auth: { apiKey: ${KEY} } } }`, "prod"],
    ["a layer", "extends: [./auth.yaml]"],
    ["a layer over two", "extends: [./over.json5]"],
  ])(
    "does not start when the config beside it gets %s",
    async (_what, line, NODE_ENV = "production") => {
      await write(folder, {
        "gateway.yaml": `${MAIN}${OFF}${line}\n`,
        "auth.yaml": `auth: { apiKey: ${KEY} }\n`,
        "over.json5": '{ extends: ["./auth.yaml"] }\n',
      });
      const env = { NODE_ENV, KEY, HASH };
      expect(await refusalOf(folder, env)).toMatch(UNCHECKED);
      // Without the line that says so, keys is asked for, and is not there.
      await write(folder, { "gateway.yaml": `${MAIN}${line}\n` });
      expect(await refusalOf(folder, env)).toMatch(ABSENT);
    },
  );

  it("does not start with a key of its environment, or of another config", async () => {
    await write(folder, {
      "gateway.yaml": MAIN + OFF,
      "other.yaml": `${MAIN}${OFF}auth: { apiKey: ${KEY} }\n`,
    });
    expect(await refusalOf(folder, { PROPYLON_API_KEY: KEY })).toMatch(UNCHECKED);
    expect(await refusalOf(folder, { PROPYLON_API_KEY: "" })).toContain("auth.apiKey");
    expect(await refusalOf(folder, { GATEWAY_CONFIG: "other.yaml" })).toMatch(UNCHECKED);
    expect(await refusalOf(folder, {}, ["other.yaml"])).toMatch(UNCHECKED);
    expect(await refusalOf(folder, { PROPYLON_API_KEY: KEY }, ["--insecure"])).toMatch(UNCHECKED);
  });

  it("does not start as several processes", async () => {
    await write(folder, { "gateway.yaml": `${MAIN}${OFF}workers: 2\n` });
    expect(await refusalOf(folder, { PROPYLON_API_KEY: KEY })).toMatch(UNCHECKED);
  });

  it("takes no keys that come beside it", async () => {
    await write(folder, {
      "gateway.yaml": `${MAIN}auth: { apiKey: ${KEY} }\nplugins: { keys: false, ./keys.ts: {} }\n`,
      "keys.ts": 'export default { name: "keys", section: "auth", setup() {} };\n',
    });
    expect(await refusalOf(folder)).toContain('The plugin "./keys.ts" is not in this build');
  });

  it("goes on as it was when a reload brings credentials", async () => {
    await write(folder, { "gateway.yaml": MAIN + OFF });
    const served = await serve(folder);
    await write(folder, { "gateway.yaml": `${MAIN}${OFF}auth: { apiKey: ${KEY} }\n` });
    served.signal("SIGHUP");
    await served.until(UNCHECKED);
    await write(folder, { "gateway.yaml": `${MAIN}auth: { apiKey: ${KEY} }\n` });
    served.signal("SIGHUP");
    await served.until(ABSENT);
    expect(await status(served)).toBe(406);
    expect(await served.stop()).toBe(0);
  });
});

describe("a build of code without keys", () => {
  it.each([
    [
      "the config",
      {
        "gateway.ts":
          "const apiKey = process.env.KEY; export default { listeners: { main: { port: 0 } }, plugins: { keys: false }, ...(apiKey && { auth: { apiKey } }) };\n",
      },
    ],
    [
      "a layer",
      {
        "gateway.yaml": `${MAIN}${OFF}extends: [./auth.ts]\n`,
        "auth.ts":
          "const apiKey = process.env.KEY; export default () => apiKey ? { auth: { apiKey } } : {};\n",
      },
    ],
  ])("does not start when %s has credentials where it runs", async (_what, files) => {
    const folder = await build(files);
    expect(await refusalOf(folder, { KEY })).toMatch(UNCHECKED);
  });
});

describe("a build with keys", () => {
  const AUTH = 'auth: { apiKey: "${KEY}" }\n';
  let folder: string;
  beforeAll(async () => {
    folder = await build({ "gateway.yaml": MAIN + AUTH });
  });

  const expectClosed = async (served: Served): Promise<void> =>
    expect([await status(served), await status(served, "x"), await status(served, KEY)]).toEqual([
      401, 401, 406,
    ]);

  it("is not built without what checks its credentials", async () => {
    const cwd = await folders.project({ "gateway.yaml": MAIN + AUTH + OFF });
    for (const env of [{}, { KEY }] as const) {
      const { code, stderr } = await propylon(["build"], cwd, env);
      expect([code, stderr]).toEqual([1, expect.stringMatching(UNCHECKED)]);
    }
  });

  it("lets nobody in where its variable is not set, or is empty", async () => {
    await write(folder, { "gateway.yaml": MAIN + AUTH });
    expect(await refusalOf(folder)).toContain("The variable KEY is not set.");
    expect(await refusalOf(folder, { KEY: "" })).toContain("auth.apiKey");
    await write(folder, { "gateway.yaml": `${MAIN}auth: { apiKey: "\${KEY:-}" }\n` });
    expect(await refusalOf(folder)).toContain("auth.apiKey");
  });

  it("does not start, and does not reload, while keys is off", async () => {
    await write(folder, { "gateway.yaml": MAIN + AUTH });
    const served = await serve(folder, { KEY });
    await expectClosed(served);
    await write(folder, { "gateway.yaml": MAIN + AUTH + OFF });
    served.signal("SIGHUP");
    await served.until(UNCHECKED);
    await expectClosed(served);
    expect(await served.stop()).toBe(0);
    expect(await refusalOf(folder, { KEY })).toMatch(UNCHECKED);
  });

  it.each([
    ["nothing", "undefined", "The plugin keys has no default export"],
    ["an empty module", "{}", "The plugin keys has no default export"],
    ["what sets nothing up", "{ default: { name: 'keys', setup() {} } }", UNCHECKED],
    [
      "what reads them and adds nobody",
      "{ default: { name: 'keys', section: 'auth', setup() {} } }",
      UNCHECKED,
    ],
    [
      "what fails",
      "{ default: { name: 'keys', section: 'auth', setup() { throw new Error('broken'); } } }",
      "broken",
    ],
  ])("does not start with %s in place of keys in its file", async (_what, module, words) => {
    const other = await folders.moved(folder);
    await write(other, { "gateway.yaml": MAIN + AUTH });
    const text = await readFile(join(other, "server.mjs"), "utf8");
    const patched = text.replace(/(\bplugins\d* = \{\s*"?keys"?: )[\w$]+/, `$1${module}`);
    expect(patched).not.toBe(text);
    await write(other, { "server.mjs": patched });
    expect(await refusalOf(other, { KEY })).toMatch(words);
  });

  it("does not start when keys was taken out of its file", async () => {
    const other = await folders.moved(folder);
    await write(other, { "gateway.yaml": MAIN + AUTH });
    const text = await readFile(join(other, "server.mjs"), "utf8");
    await write(other, {
      "server.mjs": text.replace(/(\bplugins\d* = \{\s*)"?keys"?: [\w$]+,/, "$1"),
    });
    expect(await refusalOf(other, { KEY })).toMatch(ABSENT);
  });
});

describe("a program of one file with an entry of its own", () => {
  const PROGRAM = `
import { createGateway } from "propylon";
import { plugins } from "virtual:gateway/plugins";
const given = Object.entries(plugins).map(([key, each]) => [key, each.default]);
const config = { auth: { apiKey: process.env.KEY }, listeners: { main: { port: 0 } } };
const gateway = await createGateway(config, { plugins: Object.fromEntries(given) });
await gateway.listen();
console.log("gateway ready");
`;

  it("does not start with credentials, where its plugins came without keys", async () => {
    const cwd = await folders.project({ "gateway.yaml": MAIN + OFF, "program.ts": PROGRAM });
    const plugins = [unplugin.rolldown({ config: join(cwd, "gateway.yaml") }) as Plugin];
    const input = join(cwd, "program.ts");
    const bundle = await rolldown({ input, platform: "node", plugins });
    await bundle.write({ file: join(cwd, "out/server.mjs"), format: "esm", codeSplitting: false });
    await bundle.close();
    expect(await refusalOf(await folders.moved(join(cwd, "out")), { KEY })).toMatch(ABSENT);
  });
});
