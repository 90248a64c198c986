import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, it } from "vitest";
import { REAPER_SCRIPT } from "../../../core/kit/process/reaper.ts";
import { type Process, fixture, isAlive } from "./kit.ts";

const started: Process[] = [];

afterEach(() => {
  for (const one of started.splice(0)) if (isAlive(one)) process.kill(one.pid, "SIGKILL");
});

/** Starts a tree of two levels in a group of its own, its leader first. */
async function group(): Promise<Required<Process>[]> {
  const leader = spawn("sh", [fixture("tree.sh"), "2", "0"], {
    stdio: ["pipe", "pipe", "ignore"],
    detached: true,
  });
  const tree: Required<Process>[] = [];
  for await (const line of createInterface({ input: leader.stdout })) {
    const member = JSON.parse(line);
    started.push(member);
    tree.push(member);
    if (tree.length === 2) break;
  }
  return tree.toSorted((a, b) => Number(b.pid === leader.pid) - Number(a.pid === leader.pid));
}

/** Runs the reaper's script with these lines as all of its input. */
async function reap(lines: string): Promise<void> {
  const reaper = spawn("/bin/sh", ["-c", REAPER_SCRIPT], {
    stdio: ["pipe", "ignore", "ignore"],
    env: {},
  });
  reaper.stdin.end(lines);
  expect(await once(reaper, "exit")).toEqual([0, null]);
}

describe("reaper", () => {
  it("kills the groups it watches when its input ends, and no other", async () => {
    const [watched, released, stranger] = [await group(), await group(), await group()];
    const watch = (tree: Required<Process>[], start = tree[0]!.start) =>
      `watch ${tree[0]!.pid} ${start}\n`;
    await reap(
      `${watch(watched)}${watch(released)}${watch(stranger, "1")}release ${released[0]!.pid}\n`,
    );
    await expect.poll(() => watched.some(isAlive)).toBe(false);
    expect(released.every(isAlive)).toBe(true);
    expect(stranger.every(isAlive)).toBe(true);
  });

  it("kills the rest of a group whose leader is gone", async () => {
    const [leader, member] = await group();
    process.kill(leader!.pid, "SIGKILL");
    await expect.poll(() => isAlive(leader!)).toBe(false);
    expect(isAlive(member!)).toBe(true);
    await reap(`watch ${leader!.pid} ${leader!.start}\n`);
    await expect.poll(() => isAlive(member!)).toBe(false);
  });

  it("works where start times are unknown", async () => {
    const tree = await group();
    await reap(`watch ${tree[0]!.pid} \n`);
    await expect.poll(() => tree.some(isAlive)).toBe(false);
  });

  it("ignores the signals of a terminal while it watches", async () => {
    const reaper = spawn("/bin/sh", [
      "-c",
      REAPER_SCRIPT.replace("groups=\n", "groups=\necho ready\n"),
    ]);
    await once(reaper.stdout, "data");
    for (const signal of ["SIGINT", "SIGHUP", "SIGTERM"] as const) reaper.kill(signal);
    reaper.stdin.end();
    expect(await once(reaper, "exit")).toEqual([0, null]);
  });
});
