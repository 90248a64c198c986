import { readFile, writeFile } from "node:fs/promises";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { makeFolder } from "../../kit/folder.ts";
import { propylon as propylonAlone, useCommands, type Finished } from "./propylon.ts";

const { propylon, propylonEach } = useCommands();

const wrong = fileURLToPath(new URL("../config/wrong/", import.meta.url));
const configs = readdirSync(wrong).filter((name) => !name.endsWith(".txt"));

let folder: string;
beforeEach(async () => {
  folder = makeFolder();
});

async function write(name: string, text: string): Promise<void> {
  await writeFile(join(folder, name), text);
}

describe("propylon check", () => {
  let finished: readonly Finished[];
  beforeAll(async () => {
    const lines = configs.map((name) => ["check", name]);
    finished = await propylonEach(lines, { cwd: wrong });
  });

  it.each(configs)(
    "M013: %s gives file:line:column, a sentence, a next step and exit code 1",
    async (name) => {
      const { code, stdout, stderr } = finished[configs.indexOf(name)]!;
      const expected = (await readFile(join(wrong, `${name}.txt`), "utf8")).trimEnd().split("\n");
      const lines = stderr.trimEnd().split("\n");
      expect(lines.slice(0, -1)).toEqual(expected);
      expect(lines.at(-1)).toMatch(/^\d+ problems?\.$/);
      expect(stdout).toBe("");
      expect(code).toBe(1);
    },
  );

  it("R047: sees the listener of a runtime as start does", async () => {
    await write(
      "gateway.yaml",
      `auth: { apiKey: 0123456789abcdef0123 }
plugins:
  a2a:
    workDir: .
    listener: { host: 0.0.0.0 }
    skills: [{ id: count, description: Counts., command: [wc, -w] }]
`,
    );
    const env = { A2A_PORT: "9123" };
    expect(await propylon(["check"], { cwd: folder, env })).toMatchObject({ code: 0, stderr: "" });
  });

  it("warns of tokens that were made for somebody else", async () => {
    const jwt = "{ secret: a secret of at least 32 characters }";
    await write("gateway.yaml", `auth:\n  jwt: ${jwt}\n`);
    const { code, stderr } = await propylon(["check"], { cwd: folder });
    expect(code).toBe(0);
    expect(stderr).toContain("gateway.yaml:2:3");
    expect(stderr).toContain("auth.jwt takes tokens of every issuer");
    expect(stderr).toContain("auth.jwt takes tokens for every audience");
    await write(
      "gateway.yaml",
      `auth:\n  jwt: ${jwt.replace("}", ", issuer: https://id.example, audience: here }")}\n`,
    );
    expect(await propylon(["check"], { cwd: folder })).toMatchObject({ code: 0, stderr: "" });
  });

  it("prints JSON for scripts", async () => {
    const { code, stdout } = await propylon(["check", "01-unknown-key.yaml", "--json"], {
      cwd: wrong,
    });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      problems: [{ place: { line: 3, column: 5 }, hint: 'Did you mean "port"?' }],
    });
  });

  it("accepts what is right, and says so", async () => {
    await write("gateway.yaml", "servers: { a: { command: npx } }\n");
    expect(await propylon(["check"], { cwd: folder })).toEqual({
      code: 0,
      stdout: "The config is right.\n",
      stderr: "",
    });
  });

  it("checks plugins: options, exports, syntax and names, each at its place", async () => {
    await write(
      "good.ts",
      'import { definePlugin } from "propylon"; import { z } from "zod"; export default definePlugin({ name: "good", config: z.strictObject({ greeting: z.string() }), setup() {} });',
    );
    await write("none.ts", "export const a = 1;");
    await write("broken.ts", "export default {\n  a: ,\n};");
    await write(
      "gateway.yaml",
      "plugins:\n  ./good.ts:\n    greetng: hello\n  ./none.ts: {}\n  ./broken.ts: {}\n  gatng: {}\n",
    );
    const { code, stderr } = await propylon(["check"], { cwd: folder });
    expect(code).toBe(1);
    expect(stderr).toContain(
      'gateway.yaml:3:5 Unknown key "greetng" in plugins["./good.ts"]. Did you mean "greeting"?',
    );
    expect(stderr).toContain("gateway.yaml:4:3 The plugin ./none.ts has no default export.");
    expect(stderr).toMatch(/gateway\.yaml:5:3 broken\.ts:2:\d+ The file cannot be loaded/);
    expect(stderr).toContain('gateway.yaml:6:3 There is no plugin "gatng".');
    expect(stderr).not.toContain(folder);
  });

  it("finds what only shows between plugins", async () => {
    const plugin =
      'import { definePlugin } from "propylon"; export default definePlugin({ name: "same", setup() {} });';
    await write("one.ts", plugin);
    await write("two.ts", plugin);
    await write("gateway.yaml", "plugins:\n  ./one.ts: {}\n  ./two.ts: {}\n");
    const { code, stderr } = await propylon(["check"], { cwd: folder });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^gateway\.yaml:3:3 .*"?same"?/);
    await write(
      "one.ts",
      'import { definePlugin, defineService } from "propylon"; export default definePlugin({ name: "one", inject: { shelf: defineService("shelf") }, setup() {} });',
    );
    await write("gateway.yaml", "name: shop\nplugins:\n  ./one.ts: {}\n");
    expect((await propylon(["check"], { cwd: folder })).stderr).toMatch(
      /^gateway\.yaml:3:3 Plugin "one" needs the service "shelf", which no plugin provides\. Add/,
    );
  });

  it("tells where a plugin fails: its entry, and the line of its file", async () => {
    const plugin = (setup: string): Promise<void> =>
      write(
        "a.ts",
        `import { definePlugin } from "propylon";\nexport default definePlugin({\n  name: "a",\n  setup(gateway) {\n    ${setup}\n  },\n});\n`,
      );
    await write("gateway.yaml", "name: shop\nplugins:\n  ./a.ts: {}\n");
    await plugin('throw new Error("no database");');
    expect(await propylon(["check"], { cwd: folder })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^gateway\.yaml:3:3 Plugin "a" could not be set up: no database \(a\.ts:5:\d+\)\. Correct it/,
      ) as string,
    });
    await plugin('gateway.tool("x", { description: "No run." });');
    expect(await propylon(["check"], { cwd: folder })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^gateway\.yaml:3:3 .*Tool "x" has no function "run"\. Write run\(/,
      ) as string,
    });
    await plugin('gateway.tool("say it!", { description: "Says.", run: () => "it" });');
    // Clients see a shortened name with a digest.
    expect(await propylon(["check"], { cwd: folder })).toMatchObject({ code: 0, stderr: "" });
    await write("gateway.yaml", "plugins:\n  ./a.ts: { most: 1 }\n");
    await plugin("");
    expect(await propylon(["check"], { cwd: folder })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Nothing can be set here; remove it.") as string,
    });
  });

  it("finds a server that has the name of a plugin's, as start does", async () => {
    await write(
      "hello.ts",
      'import { definePlugin } from "propylon"; export default definePlugin({ name: "hello", setup: (gateway) => gateway.tool("greet", { description: "Greets.", run: () => "Hi" }) });',
    );
    const config = "  hello: { url: http://127.0.0.1:9/mcp }\nplugins:\n  ./hello.ts: {}\n";
    await write("gateway.yaml", `listeners: { main: { port: 0 } }\nservers:\n${config}`);
    const told =
      'gateway.yaml:3:3 The server name "hello" is taken twice: by the config\'s server "hello" and by plugin "hello". Rename servers.hello, or the plugin.';
    // A gateway that ends goes on telling of it.
    for (const run of [
      () => propylon(["check"], { cwd: folder }),
      () => propylonAlone(["start"], { cwd: folder }),
    ]) {
      const { code, stderr } = await run();
      expect(stderr.split("\n")).toContain(told);
      expect(code).toBe(1);
    }
    await write("gateway.yaml", `servers:\n${config.replace("url:", "enabled: false, url:")}`);
    expect(await propylon(["check"], { cwd: folder })).toMatchObject({ code: 0 });
  });

  it("connects when asked, and names the server that does not answer (exit code 2)", async () => {
    await write(
      "gateway.yaml",
      "servers:\n  gone:\n    url: http://127.0.0.1:9/mcp\n  alive: { command: node, args: [server.mjs] }\n",
    );
    await write("server.mjs", SERVER);
    const { code, stderr } = await propylon(["check", "--connect"], { cwd: folder });
    expect(stderr).toMatch(/^gateway\.yaml:2:3 The server "gone" cannot be used: /);
    expect(stderr).not.toContain('"alive"');
    expect(code).toBe(2);
  });

  it("never prints a secret", async () => {
    await write(".env", "SECRET=canary-77ab\n");
    await write(
      "gateway.yaml",
      "servers:\n  a:\n    url: http://user:canary-77ab@127.0.0.1:9/${SECRET}\n    headers: { Authorization: '${SECRET}' }\n    timeout: '${SECRET}'\n  b: { command: 'canary-77ab' , protocol: '${SECRET}' }\n",
    );
    const found = await propylon(["check", "--connect", "--json"], { cwd: folder });
    expect(found.code).toBe(1);
    expect(found.stdout + found.stderr).not.toContain("canary");
  });
});

const SERVER = `
import { createInterface } from "node:readline";
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const results = { initialize: { protocolVersion: params?.protocolVersion, capabilities: {}, serverInfo: { name: "s", version: "1" } } };
  if (id !== undefined) console.log(JSON.stringify(results[method] ? { jsonrpc: "2.0", id, result: results[method] } : { jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }));
});`;
