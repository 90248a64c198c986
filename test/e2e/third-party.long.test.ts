import { execFile } from "node:child_process";
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { connectClient } from "../../core/testing/index.ts";
import { propylon, startPropylon, type Running } from "../core/cli/propylon.ts";
import { PATIENCE } from "../fixtures/ci.ts";
import { install, openWorkshop, PACKAGE, type Workshop } from "./third-party-kit.ts";

const LIFE = fileURLToPath(new URL("third-party-life.mjs", import.meta.url));
const SETTLED = { timeout: 10_000 };

let workshop: Workshop;
let config: string;
beforeAll(async () => {
  workshop = await openWorkshop();
  config = join(workshop.gateway, "gateway.yaml");
});
afterAll(() => workshop.remove());
beforeEach(() =>
  rm(join(workshop.gateway, "node_modules", PACKAGE), { recursive: true, force: true }),
);

const BARE = `listeners: { main: { port: 0 } }
management: { mutations: true }
plugins:
  metrics: { cacheTtl: 0 }
`;

const save = (...lines: string[]): Promise<void> => writeFile(config, BARE + lines.join(""));
const named = (options: string): string => `  ${PACKAGE}: ${options}\n`;

/** What somebody outside sees of the plugin. */
async function seen({ url }: Pick<Running, "url">): Promise<object> {
  const base = new URL(url).origin;
  const client = await connectClient(url);
  const { tools } = await client.listTools();
  await client.close();
  const metrics = await (await fetch(`${base}/metrics`)).text();
  return {
    tools: tools.map(({ name, description }) => `${name}: ${description}`),
    route: (await fetch(`${base}/notes`)).status,
    metric: /^notes_kept \d+$/m.exec(metrics)?.[0],
  };
}

const NOTHING = { tools: [], route: 404, metric: undefined };
const FIRST = {
  tools: ["note_add: Keeps a note.", "note_list: Lists the notes that are kept, the newest first."],
  route: 200,
  metric: "notes_kept 0",
};

async function addNotes({ url }: Running, ...texts: string[]): Promise<unknown> {
  const client = await connectClient(url);
  for (const text of texts) await client.callTool({ name: "note_add", arguments: { text } });
  await client.close();
  return (await fetch(new URL("/notes", url))).json();
}

describe("a plugin package of somebody else", () => {
  it("is packed with what it needs and nothing else", async () => {
    await install(workshop.first, workshop.gateway);
    const folder = join(workshop.gateway, "node_modules", PACKAGE);
    const files = await readdir(folder, { recursive: true });
    expect(files.filter((name) => name.includes(".")).toSorted()).toEqual([
      "README.md",
      "dist/index.d.ts",
      "dist/index.js",
      "dist/notes.d.ts",
      "dist/notes.js",
      "dist/options.d.ts",
      "dist/options.js",
      "package.json",
    ]);
    expect(await readFile(join(folder, "README.md"), "utf8")).toContain(`npm install ${PACKAGE}`);
  });

  it(
    "is installed, configured, updated and removed under a gateway that runs",
    { timeout: PATIENCE * 60_000 },
    async () => {
      const { gateway: cwd } = workshop;
      await save();
      const running = await startPropylon(["start", "--watch"], { cwd });
      onTestFinished(() => void running.child.kill("SIGKILL"));
      expect(await seen(running)).toEqual(NOTHING);

      // Named before it is there: told, and found once it is.
      await save(named("{}"));
      await running.until(new RegExp(`There is no plugin \\S+${PACKAGE}`));
      await install(workshop.first, cwd);
      await save(named("{ }"));
      await expect.poll(() => seen(running), SETTLED).toEqual(FIRST);
      expect(await addNotes(running, "one", "two", "three")).toEqual({
        notes: ["three", "two", "one"],
      });

      await save(named("{ maxNote: 2 }"));
      await running.until(
        /Did you mean \S+maxNotes\S+,"msg":.*Unknown key \S+maxNote\S+ in plugins.acme-notes/,
      );
      expect(await seen(running)).toMatchObject({ metric: "notes_kept 3" });

      await save(named("{ maxNotes: 2 }"));
      await expect.poll(() => seen(running), SETTLED).toMatchObject({ metric: "notes_kept 2" });

      await install(workshop.next, cwd);
      await save(named("{ maxNotes: 1 }"));
      await running.until(new RegExp(`restart to apply: plugins.${PACKAGE}`));
      expect(await seen(running)).toEqual({ ...FIRST, metric: "notes_kept 1" });

      await save();
      await expect.poll(() => seen(running), SETTLED).toEqual(NOTHING);
      expect(await running.stop()).toBe(0);

      await save(named("{}"));
      const again = await startPropylon(["start"], { cwd });
      onTestFinished(() => void again.child.kill("SIGKILL"));
      expect(await seen(again)).toMatchObject({
        tools: ["note_add: Keeps a note for later.", expect.anything()],
      });
      expect(await again.stop()).toBe(0);
    },
  );

  it("leaves no handle, route, tool or metric when it is taken out, and lets the process end", async () => {
    const { gateway: cwd, next } = workshop;
    await install(next, cwd);
    const quiet = `log: { level: silent }\n${BARE}`;
    await cp(LIFE, join(cwd, "life.mjs"));
    const words = ["life.mjs", quiet, quiet + named("{ maxNotes: 3 }")];
    const { stdout } = await promisify(execFile)(process.execPath, words, { cwd, timeout: 15_000 });
    const report = JSON.parse(stdout) as { before: string[] };
    expect(report).toEqual({
      before: report.before,
      during: [...report.before, "Timeout"].toSorted(),
      after: report.before,
      added: [PACKAGE],
      removed: [PACKAGE],
      routes: [],
      servers: [],
      hasMetric: false,
    });
  });

  it("is explained by its key and by its name, and checked like any other", async () => {
    await install(workshop.first, workshop.gateway);
    await save(named("{ maxNotes: 5 }"));
    const { gateway: cwd } = workshop;
    for (const name of [PACKAGE, "notes"]) {
      const { stdout, code } = await propylon(["check", "--explain", name], { cwd });
      expect(stdout).toContain("notes/note_add");
      expect(code).toBe(0);
    }
    expect(await propylon(["check"], { cwd })).toMatchObject({
      code: 0,
      stdout: "The config is right.\n",
    });
  });
});
