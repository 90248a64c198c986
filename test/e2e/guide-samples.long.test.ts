import { spawnSync } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { setupGateway } from "../../core/testing/index.ts";
import { propylon } from "../core/cli/propylon.ts";
import { makeFolder } from "../kit/folder.ts";

const MODULES = fileURLToPath(new URL("../../node_modules", import.meta.url));

const PAGES = ["docs/guide/write-a-plugin.md", "docs/reference/writing-plugins.md"];

/** What samples that show a part stand in; the second makes the routes that its panels are made of. */
const AROUND: readonly (readonly [begin: RegExp, before: string, behind: string])[] = [
  [/^import /, "", ""],
  [/^export default/, 'import { definePlugin } from "propylon"; import { z } from "zod";\n', ""],
  [
    /^gateway\./,
    'import type { PluginContext } from "propylon"; import { Panels } from "propylon/panels"; import { Filters } from "propylon/kit";\nexport function part(gateway: PluginContext<unknown>): void {\n',
    "}",
  ],
];

interface Sample {
  readonly name: string;
  readonly text: string;
}

/** Every TypeScript block of the pages, in the file that the page names, or that its plugin is called after. */
function samplesOf(page: string): Sample[] {
  const blocks = [...page.matchAll(/(?:`([^`\n]+\.ts)`[^\n]*:\n\n)?^```ts\n([^]*?)^```$/gm)];
  return blocks.map(([, file, text], at) => {
    const plugin = /definePlugin\(\{\n +name: "(\w+)"/.exec(text!)?.[1] ?? `sample-${at}`;
    const kind = text!.includes('"propylon/testing"') ? ".test" : "";
    return { name: file ?? `plugins/${plugin}${kind}.ts`, text: text! };
  });
}

function completed({ name, text }: Sample): string {
  const known = AROUND.find(([begin]) => begin.test(text));
  if (!known) throw new Error(`${name} begins in a way that no test knows.`);
  return `${known[1]}${withTestNames(text)}${known[2]}`;
}

/** Samples of tests leave out what the page has shown before. */
function withTestNames(text: string): string {
  if (!text.includes('"propylon/testing"') || text.includes('"vitest"')) return text;
  const greeter = text.includes("[greeter") ? 'import greeter from "./greeter.ts";\n' : "";
  const names = text.includes("expect(") ? "expect, it" : "it";
  const import_ = `import { ${names} } from "vitest";\n${greeter}`;
  if (text.includes("it(")) return import_ + text;
  const [imports = "", body = ""] = text.split(/\n\n([^]*)/);
  return `${import_}${imports}\nit("works", async () => {\n${body}});\n`;
}

const CONFIG = `store: sqlite:./data/gateway.db
management: { mutations: true }
rooms: { guard: welcome }
plugins:
  ./plugins/greeter.ts: {}
  ./plugins/rooms.ts: {}
  ./plugins/signature.ts: {}
  ./plugins/lending.ts: {}
  ./plugins/notes.ts: {}
  ./plugins/shelves.ts: {}
  ./plugins/visits.ts: {}
  ./plugins/doorman.ts: {}
  ./plugins/phrases.ts: {}
  ./plugins/quotas.ts: {}
  payloads: {}
servers:
  welcome: { type: phrases, url: "http://127.0.0.1:9/welcome.json" }
`;

let folder: string;
let samples: Sample[];
beforeAll(async () => {
  folder = makeFolder();
  await mkdir(join(folder, "plugins"));
  await symlink(MODULES, join(folder, "node_modules"));
  const pages = PAGES.map((page) => readFile(page, "utf8"));
  samples = samplesOf((await Promise.all(pages)).join("\n"));
  for (const sample of samples) await writeFile(join(folder, sample.name), completed(sample));
  const tsconfig = await readFile("templates/shared/tsconfig.json", "utf8");
  await writeFile(join(folder, "tsconfig.json"), tsconfig);
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await writeFile(join(folder, "gateway.yaml"), CONFIG);
});

describe("the samples of the pages for plugin authors", () => {
  it("newcomer 3: are all found, and their types are right", () => {
    expect(samples.length).toBeGreaterThan(12);
    const tsc = join(MODULES, "typescript/bin/tsc");
    const { stdout, status } = spawnSync(process.execPath, [tsc], {
      cwd: folder,
      encoding: "utf8",
    });
    expect([stdout, status]).toEqual(["", 0]);
  });

  it("newcomer 2: pass propylon check together, those with tables too", async () => {
    expect(await propylon(["check"], { cwd: folder })).toMatchObject({ code: 0, stderr: "" });
  });

  it("newcomer 3: do what the pages say in one gateway", async () => {
    const { client, url } = await setupGateway({ file: join(folder, "gateway.yaml") });
    const call = async (name: string, args: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: args })).content;
    expect(await call("greet", { name: "Ada" })).toEqual([{ type: "text", text: "Hello, Ada!" }]);
    await call("add", { text: "a red book" });
    expect(await call("find", { word: "red" })).toEqual([
      {
        type: "text",
        text: expect.stringMatching(/^\{"notes":\[\{"id":"[^"]+","text":"a red book"/),
      },
    ]);
    expect(await call("enter", { name: "Ada" })).toEqual([
      { type: "text", text: '{"name":"Ada","visits":1}' },
    ]);
    expect(await call("quotas", {})).toEqual([
      { type: "text", text: '{"quotas":[{"name":"calls","perDay":1000}]}' },
    ]);
    const filled = await fetch(`${url}/shelves/top`, { method: "POST" });
    expect([filled.status, await filled.json()]).toEqual([200, { ok: true }]);
    const lent = ["book", "lend", "The Castle", "Ada", "--days", "7", "--target", url, "--json"];
    const { code, stdout, stderr } = await propylon(lent, { cwd: folder });
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toEqual({ book: "The Castle", reader: "Ada", days: 7 });
  });

  it("newcomer 3: its tests pass", () => {
    const vitest = join(MODULES, "vitest/vitest.mjs");
    const { stdout, status } = spawnSync(process.execPath, [vitest, "run"], {
      cwd: folder,
      encoding: "utf8",
      env: { ...process.env, CI: "true", NO_COLOR: "1" },
    });
    expect([status, /\d+ failed/.exec(stdout)?.[0]]).toEqual([0, undefined]);
    expect(stdout).toMatch(/Test Files +3 passed/);
  });
});
