import { type ChildProcessByStdio, execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { makeFolder } from "../../kit/folder.ts";
import { type Process, children, descriptors, fixture, isAlive, record } from "./kit.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Resolves with the processes of a tree once each has named itself. */
async function members(
  channel: { messages: string[]; until(test: (message: string) => boolean): Promise<string> },
  levels: number,
) {
  await channel.until(() => channel.messages.length === levels);
  return channel.messages.map((message) => JSON.parse(message) as Process);
}

describe("supervision of a process tree", () => {
  it("leaves no process and no descriptor after 200 spawns and closes of three levels, one deaf to SIGTERM", async () => {
    const times = { eof: 30, term: 60, orphans: 60 };
    const cycle = async (index: number) => {
      const channel = await record("sh", [fixture("tree.sh"), 3, (index % 3) + 1], { times });
      const tree = await members(channel, 3);
      expect(tree.every(isAlive)).toBe(true);
      await channel.close();
      return tree;
    };
    await cycle(0);
    await expect.poll(() => children()).toEqual([]);
    const before = descriptors();
    const trees: Process[][] = [];
    const queue = Array.from({ length: 200 }, (_, index) => index);
    const lane = async () => {
      for (let index = queue.pop(); index !== undefined; index = queue.pop())
        trees.push(await cycle(index));
    };
    await Promise.all(Array.from({ length: 10 }, lane));
    expect(trees.flat()).toHaveLength(600);
    await expect.poll(() => trees.flat().filter(isAlive)).toEqual([]);
    await expect.poll(() => children()).toEqual([]);
    await expect.poll(() => descriptors()).toBeLessThanOrEqual(before);
  });

  it("ends every level of a tree of Node processes, whichever is deaf to SIGTERM", async () => {
    for (const stubborn of [0, 1, 2, 3]) {
      const channel = await record("node", [fixture("tree.mjs"), 3, stubborn]);
      const tree = await members(channel, 3);
      await channel.close();
      await expect.poll(() => tree.filter(isAlive)).toEqual([]);
    }
  });

  it("ends the rest of the group when the leader is killed", async () => {
    const channel = await record("node", [fixture("tree.mjs"), 3, 3]);
    const tree = await members(channel, 3);
    process.kill(channel.pid, "SIGKILL");
    await channel.ended;
    await expect.poll(() => tree.filter(isAlive)).toEqual([]);
  });

  it("ends a child that was stopped", async () => {
    const channel = await record("node", [fixture("tree.mjs"), 2, 0]);
    const tree = await members(channel, 2);
    process.kill(-channel.pid, "SIGSTOP");
    await channel.close();
    await expect.poll(() => tree.filter(isAlive)).toEqual([]);
  });

  it("gives end of input, SIGTERM and SIGKILL their time each", async () => {
    const channel = await record("node", [fixture("tree.mjs"), 1, 1], {
      times: { eof: 300, term: 400 },
    });
    await members(channel, 1);
    const start = performance.now();
    await channel.close();
    expect(performance.now() - start).toBeGreaterThanOrEqual(690);
  });

  it("closes a child that obeys the end of input without waiting, and any number of times", async () => {
    const channel = await record("node", [fixture("tree.mjs"), 1, 0], { times: { eof: 15_000 } });
    await members(channel, 1);
    const first = channel.close();
    expect(channel.close()).toBe(first);
    await first;
    await channel.close();
    expect(isAlive({ pid: channel.pid })).toBe(false);
    expect(channel.ends()).toBe(1);
  });
});

describe("death of the gateway", () => {
  let folder: string;
  let stdio: string;

  // Node 20 runs no TypeScript: the gateway of these tests is compiled as the package is.
  beforeAll(() => {
    folder = makeFolder();
    const options =
      "--ignoreConfig --noCheck --module nodenext --target es2023 --rewriteRelativeImportExtensions --rootDir . --outDir";
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    execFileSync(
      process.execPath,
      [tsc, "core/kit/process/stdio.ts", ...options.split(" "), folder],
      {
        cwd: root,
      },
    );
    stdio = join(folder, "core/kit/process/stdio.js");
  });

  interface Started {
    readonly gateway: ChildProcessByStdio<Writable, Readable, null>;
    /** All processes below it that have named themselves so far. */
    readonly tree: Process[];
    readonly reaper: Process;
  }

  /** Starts a gateway with trees of three levels below it; resolves when all of them have named themselves. */
  async function start(trees: number): Promise<Started> {
    const args = [fixture("gateway.mjs"), stdio, trees, "node", fixture("tree.mjs"), 3, 2].map(
      String,
    );
    const gateway = spawn(process.execPath, args, {
      stdio: ["pipe", "pipe", "ignore"],
      cwd: folder,
    });
    const tree: Process[] = [];
    createInterface({ input: gateway.stdout }).on("line", (line) => tree.push(JSON.parse(line)));
    await expect.poll(() => tree.length).toBe(trees * 3);
    const known = new Set(tree.map(({ pid }) => pid));
    const others = children(gateway.pid).filter((pid) => !known.has(pid));
    expect(others).toHaveLength(1);
    return { gateway, tree, reaper: { pid: others[0]! } };
  }

  const dead = async (processes: readonly Process[]): Promise<void> =>
    await expect.poll(() => processes.filter(isAlive)).toEqual([]);

  it.each(["SIGKILL", "SIGTERM", "exit", "throw"])(
    "leaves no process of any level, nor the reaper, after %s",
    async (way) => {
      const { gateway, tree, reaper } = await start(3);
      expect(tree.every(isAlive)).toBe(true);
      if (way === "SIGKILL" || way === "SIGTERM") gateway.kill(way);
      else gateway.stdin.write(`${way}\n`);
      await dead([...tree, reaper]);
    },
  );

  it("replaces a reaper that was killed, which then knows the earlier groups too", async () => {
    const { gateway, tree, reaper } = await start(1);
    process.kill(reaper.pid, "SIGKILL");
    await expect.poll(() => existsSync(`/proc/${reaper.pid}`)).toBe(false);
    gateway.stdin.write("spawn\n");
    await expect.poll(() => tree.length).toBe(6);
    expect(tree.every(isAlive)).toBe(true);
    gateway.kill("SIGKILL");
    await dead(tree);
  });

  it("does not depend on the reaper for the leaders: the kernel ends them", async () => {
    const { gateway, tree, reaper } = await start(1);
    process.kill(reaper.pid, "SIGKILL");
    gateway.kill("SIGKILL");
    const [leader] = tree;
    await expect.poll(() => isAlive(leader!)).toBe(false);
    for (const { pid } of tree.filter(isAlive)) process.kill(pid, "SIGKILL");
  });
});
