import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import mcp from "../../../plugins/mcp/index.ts";
import servers from "../../../plugins/servers/index.ts";
import tasks from "../../../plugins/tasks/index.ts";
import {
  type AnyPlugin,
  definePlugin,
  type GatewayError,
  type ReloadReport,
} from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { makeFolder } from "../../kit/folder.ts";

const TEXT = `# ours
listeners:
  main: { port: 0 }   # any
servers:
  off: { command: never, enabled: false }
plugins:
  shop:
    greeting: hello
`;

/** Fails where told to, and counts how often it was set up. */
const setups: string[] = [];
const shop = definePlugin({
  name: "shop",
  config: z.strictObject({ greeting: z.string(), fail: z.enum(["setup", "start"]).optional() }),
  setup(gateway) {
    const { greeting, fail } = gateway.config;
    setups.push(greeting);
    if (fail === "setup") throw new Error("no stock");
    gateway.onStart(() => {
      if (fail === "start") throw new Error("no staff");
    });
    gateway.tool("greet", { description: "Greets.", run: () => greeting });
  },
});

let folder: string;
let file: string;
beforeEach(async () => {
  folder = makeFolder();
  file = join(folder, "gateway.yaml");
  await writeFile(file, TEXT);
  setups.length = 0;
});

async function run(more: readonly AnyPlugin[] = []) {
  const { gateway } = await setupGateway({ file, plugins: [shop, ...more], client: false });
  const done: ReloadReport[] = [];
  const failed: GatewayError[] = [];
  gateway.hook("reload:done", (report) => void done.push(report));
  gateway.hook("reload:failed", (error) => void failed.push(error));
  const greet = async (): Promise<string> => {
    const answer = await gateway.call({ server: "shop", name: "greet" });
    return JSON.stringify(answer.result);
  };
  return { gateway, info: gateway.info, management: await gateway.manage(), done, failed, greet };
}

/** Runs something without the right to write into the folder, and returns how it failed. */
async function withoutRights(work: () => Promise<unknown>): Promise<unknown> {
  await chmod(folder, 0o555);
  // Root may write anywhere: be somebody else for a moment.
  const isRoot = process.geteuid!() === 0;
  if (isRoot) process.seteuid!(65_534);
  try {
    return await work().catch((error: unknown) => error);
  } finally {
    if (isRoot) process.seteuid!(0);
    await chmod(folder, 0o755);
  }
}

/** A container may be root and still not be allowed to. */
const canMount = ((): boolean => {
  const probe = makeFolder();
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=4k", "tmpfs", probe], { stdio: "ignore" });
    execFileSync("umount", [probe], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

const digest = async (path = file): Promise<string> =>
  createHash("sha256")
    .update(await readFile(path))
    .digest("hex");

describe("reload", () => {
  it("M040, M099: says what was added, changed, removed and left alone", async () => {
    const { management, done } = await run();
    await writeFile(
      file,
      TEXT.replace("hello", "hi").replace("enabled: false", "enabled: true, cwd: /"),
    );
    const report = await management.reload();
    expect(report).toMatchObject({
      applied: true,
      generation: 2,
      plugins: { changed: ["shop"], added: [], removed: [] },
      servers: { added: ["off"], removed: [], changed: [] },
    });
    expect(done).toEqual([report]);
    await writeFile(file, TEXT);
    expect((await management.reload()).servers.removed).toEqual(["off"]);
  });

  it("is cheap and says so when nothing changed, a comment aside", async () => {
    const { management, done, gateway } = await run();
    await writeFile(file, `# more\n${TEXT}`);
    const report = await management.reload();
    expect(report).toMatchObject({
      applied: false,
      generation: 1,
      plugins: { unchanged: ["shop"] },
    });
    expect(gateway.info.generation).toBe(1);
    expect(setups).toEqual(["hello"]);
    expect(done).toEqual([report]);
    // The comment is known now: an edit does not take it for somebody else's save.
    await management.edit([{ path: ["plugins", "shop", "greeting"], value: "edited" }]);
    expect(await readFile(file, "utf8")).toBe(`# more\n${TEXT}`.replace("hello", "edited"));
  });

  it("M102, M015: concurrent reloads and edits run one after another", async () => {
    const { management, done, greet } = await run();
    await writeFile(file, TEXT.replace("hello", "one"));
    const first = management.reload();
    const all = await Promise.all([
      first,
      management.reload(),
      management.edit([{ path: ["plugins", "shop", "greeting"], value: "two" }]),
      management.edit([{ path: ["plugins", "shop", "greeting"], value: "three" }]),
      management.reload(),
    ]);
    expect(all.map(({ generation, applied }) => [generation, applied])).toEqual([
      [2, true],
      [2, false],
      [3, true],
      [4, true],
      [4, false],
    ]);
    expect(done).toEqual(all);
    expect(setups).toEqual(["hello", "one", "two", "three"]);
    expect(await greet()).toContain("three");
  });

  it("M089, M088: refuses without a file, and for a config that is code", async () => {
    const { gateway } = await setupGateway({ client: false });
    await expect((await gateway.manage()).reload()).rejects.toMatchObject({ code: "no_config" });
    await expect((await gateway.manage()).plan()).rejects.toMatchObject({ code: "no_config" });
    await expect((await gateway.manage()).edit([])).rejects.toMatchObject({
      code: "no_config_mode",
    });
    expect((await gateway.manage()).configFile).toBeUndefined();
    const code = join(folder, "gateway.mjs");
    await writeFile(code, "export default { listeners: { main: { port: 0 } } };\n");
    const { gateway: other } = await setupGateway({ file: code, client: false });
    expect(await (await other.manage()).reload()).toMatchObject({ applied: false });
    await expect(
      (await other.manage()).edit([{ path: ["name"], value: "x" }]),
    ).rejects.toMatchObject({
      code: "no_config_mode",
      hint: expect.any(String) as string,
    });
  });
});

describe("plan", () => {
  it("says what a reload would do and starts nothing; the change is still one for a reload", async () => {
    const { management, gateway, done, greet } = await run();
    await writeFile(
      file,
      `name: other\n${TEXT.replace("hello", "hi").replace("enabled: false", "cwd: /")}`,
    );
    expect(await management.plan()).toEqual({
      plugins: { added: [], removed: [], changed: ["shop"], unchanged: [] },
      servers: { added: ["off"], removed: [], changed: [], unchanged: [] },
      restartRequired: ["name"],
    });
    expect(setups).toEqual(["hello", "hi"]);
    expect(await greet()).toContain("hello");
    expect([gateway.info.generation, done]).toEqual([1, []]);
    const planned = await management.plan();
    expect(await management.reload()).toMatchObject(planned);
  });

  it("says where a wrong file is wrong, and tells nobody else", async () => {
    const { management, failed } = await run();
    await writeFile(file, TEXT.replace("greeting", "greetings"));
    await expect(management.plan()).rejects.toMatchObject({
      code: "reload_failed",
      place: { line: 8, column: 5 },
    });
    expect(failed).toEqual([]);
  });
});

/** Where an edit that cannot be activated says that the trouble is: the plugin's entry, or the very option. */
const LINES: Readonly<Record<string, number>> = { setup: 7, start: 7, wrong: 9 };

describe("edit", () => {
  it.each([
    ["setup", TEXT],
    ["start", TEXT],
    ["setup", TEXT.replaceAll("\n", "\r\n")],
    ["start", TEXT.trimEnd()],
    ["wrong", TEXT],
    ["port", TEXT],
  ])(
    "M086: what cannot be activated (%s) leaves the exact bytes, the mode and the symlink, and says why",
    async (how, text) => {
      const taken = createServer().listen(0, "127.0.0.1");
      await once(taken, "listening");
      onTestFinished(() => void taken.close());
      const { port } = taken.address() as { port: number };
      const target = join(folder, "real.yaml");
      await writeFile(target, text, { mode: 0o640 });
      await chmod(target, 0o640);
      file = join(folder, "link.yaml");
      await symlink("real.yaml", file);
      const { management, failed, done, greet } = await run();
      const before = { sha256: await digest(), inode: (await stat(file)).ino };
      const value = how === "wrong" ? "sometimes" : how;
      const edit =
        how === "port"
          ? { path: ["listeners", "more"], value: { port } }
          : { path: ["plugins", "shop", "fail"], value };
      const error = await management.edit([edit]).catch((thrown: GatewayError) => thrown);
      expect(error).toMatchObject({ code: "reload_failed" });
      expect((error as GatewayError).place?.line).toBe(LINES[how]);
      expect({ sha256: await digest(), inode: (await stat(file)).ino }).toEqual(before);
      expect((await stat(target)).mode & 0o777).toBe(0o640);
      expect((await readdir(folder)).toSorted()).toEqual([
        "gateway.yaml",
        "link.yaml",
        "real.yaml",
      ]);
      expect([failed, done]).toEqual([[error], []]);
      expect(await greet()).toContain("hello");
      // And the next edit is none of a changed file.
      await management.edit([{ path: ["plugins", "shop", "greeting"], value: "again" }]);
      expect(await greet()).toContain("again");
      expect(await readFile(target, "utf8")).toBe(text.replace("hello", "again"));
    },
  );

  it("M085: a folder that cannot be written: io_error, file and memory as before, no event", async () => {
    // Handed over, because somebody else may not be allowed to read their modules.
    const { management, gateway, failed, done, greet } = await run([servers, mcp, tasks]);
    const before = await digest();
    const error = await withoutRights(() =>
      management.edit([{ path: ["plugins", "shop", "greeting"], value: "lost" }]),
    );
    expect(error).toMatchObject({
      code: "io_error",
      message: expect.stringContaining("EACCES") as string,
      hint: expect.stringContaining("permission") as string,
    });
    expect(await digest()).toBe(before);
    expect([gateway.info.generation, failed, done]).toEqual([1, [], []]);
    expect(await greet()).toContain("hello");
  });

  it.skipIf(!canMount)(
    "M085: a full disk (ENOSPC): io_error, file and memory as before, nothing left behind",
    async () => {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]);
      onTestFinished(() => void execFileSync("umount", ["-l", folder]));
      await writeFile(file, `${TEXT}# ${"x".repeat(20_000)}\n`);
      const { management, gateway, failed, done, greet } = await run();
      await expect(writeFile(join(folder, "filler"), Buffer.alloc(65_536))).rejects.toThrow(
        "ENOSPC",
      );
      const before = await digest();
      const edit = { path: ["plugins", "shop", "greeting"], value: "lost" };
      await expect(management.edit([edit])).rejects.toMatchObject({
        code: "io_error",
        message: expect.stringContaining("ENOSPC") as string,
      });
      expect(await digest()).toBe(before);
      expect((await readdir(folder)).toSorted()).toEqual(["filler", "gateway.yaml"]);
      expect([gateway.info.generation, failed, done]).toEqual([1, [], []]);
      expect(await greet()).toContain("hello");
      await rm(join(folder, "filler"));
      await management.edit([edit]);
      expect(await greet()).toContain("lost");
    },
  );

  it("refuses to edit a file that somebody saved and nobody reloaded, and takes that save first with a reload", async () => {
    const { management } = await run();
    await writeFile(file, `# theirs\n${TEXT}`);
    await expect(management.edit([{ path: ["name"], value: "x" }])).rejects.toMatchObject({
      code: "exists",
    });
    expect(await readFile(file, "utf8")).toBe(`# theirs\n${TEXT}`);
    await management.reload();
    await management.edit([{ path: ["name"], value: "x" }]);
    expect(parse(await readFile(file, "utf8"))).toMatchObject({ name: "x" });
  });

  it("a person's save while an edit is being activated is not lost: the edit is refused, the save is reloaded", async () => {
    const { management, gateway, greet, done } = await run();
    const watcher = await gateway.watch({ settle: 1, poll: 1_000_000 });
    const theirs = TEXT.replace("hello", "theirs");
    const saving = definePlugin({
      name: "saving",
      setup: (door) => door.onStart(() => writeFile(file, theirs)),
    });
    await writeFile(join(folder, "saving.mjs"), "export default globalThis.__saving;\n");
    Object.assign(globalThis, { __saving: saving });
    await expect(
      management.edit([{ path: ["plugins", "./saving.mjs"], value: {} }]),
    ).rejects.toMatchObject({ code: "exists" });
    expect(await readFile(file, "utf8")).toBe(theirs);
    await expect.poll(greet).toContain("theirs");
    await watcher.close();
    expect(done.filter(({ applied }) => applied)).toHaveLength(1);
  });

  it("the watcher does not reload an edit a second time", async () => {
    const { management, gateway, done } = await run();
    const watcher = await gateway.watch({ settle: 1, poll: 1_000_000 });
    for (const value of ["one", "two", "three"]) {
      await management.edit([{ path: ["plugins", "shop", "greeting"], value }]);
      await watcher.look();
    }
    expect(done.map(({ generation }) => generation)).toEqual([2, 3, 4]);
  });
});

describe("showing the config", () => {
  it("masks what came from the environment, keys, hashes and headers", async () => {
    await writeFile(join(folder, ".env"), "CANARY=ca-na-ry-1234\nPORT=0\n");
    const key = "k".repeat(32);
    await writeFile(
      file,
      TEXT.replace("hello", "${CANARY}")
        .replace("never", '"${CANARY}-x", args: [--api-key=inline-9, --token, next-9, --port, "1"]')
        .concat(
          `auth:\n  apiKey: ${key}\n  keys:\n    ops: { role: operator, hash: "sha256:${"a".repeat(64)}" }\n`,
        ),
    );
    const { management, info } = await run();
    const shown = JSON.stringify([info.effectiveConfig(), management.serverConfig("off")]);
    for (const secret of ["ca-na-ry", "inline-9", "next-9", key, "a".repeat(64)])
      expect(shown).not.toContain(secret);
    expect(info.effectiveConfig()).toMatchObject({
      plugins: { shop: { greeting: "***" } },
      servers: {
        off: { command: "***-x", args: ["--api-key=***", "--token", "***", "--port", "1"] },
      },
      auth: { apiKey: "***", keys: { ops: { role: "operator", hash: "***" } } },
    });
    expect(management.serverConfig("constructor")).toBeUndefined();
    expect(management.configFile).toBe(file);
  });
});
