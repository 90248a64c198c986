import { fork, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { lockFile } from "../../../core/kit.ts";
import { isAlive, processOf } from "../../fixtures/processes.ts";
import { until } from "../../kit/until.ts";

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "lock-"));
  file = join(folder, "state.json");
  return () => rm(folder, { recursive: true, force: true });
});

interface Outcome {
  readonly held: boolean;
  readonly code?: string;
  readonly message?: string;
  readonly data?: { readonly pid: number };
}

async function start(): Promise<ChildProcess> {
  const child = fork(path("holder.mjs"), [path("../../../dist/modules/core/kit/lock.js"), file]);
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child, "message");
  return child;
}

async function take(child: ChildProcess): Promise<Outcome> {
  child.send("go");
  return ((await once(child, "message")) as [Outcome])[0];
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "close");
}

const leftovers = async (): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name !== "state.json.lock");

describe("lockFile", () => {
  it("is refused to a second process, which is told who has it", async () => {
    const [first, second] = [await start(), await start()];
    expect(await take(first)).toEqual({ held: true });
    expect(await take(second)).toMatchObject({
      held: false,
      code: "exists",
      message: expect.stringContaining(
        `state.json is in use by another gateway: process ${first.pid}`,
      ) as string,
      data: { pid: first.pid },
    });
    await expect(lockFile(file)).rejects.toMatchObject({ code: "exists" });
    expect(await leftovers()).toEqual([]);
  });

  it("is taken over at once when its holder was killed", async () => {
    const first = await start();
    await take(first);
    await kill(first);
    const lock = await lockFile(file);
    expect(await lock.isHeld()).toBe(true);
    await lock.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it("is taken over by one of many that find the same dead holder", async () => {
    const children = await Promise.all([start(), start(), start(), start()]);
    for (let round = 0; round < 5; round++) {
      const dead = await start();
      expect(await take(dead)).toEqual({ held: true });
      await kill(dead);
      const outcomes = await Promise.all(children.map((child) => take(child)));
      expect(outcomes.filter(({ held }) => held)).toHaveLength(1);
      const winner = outcomes.findIndex(({ held }) => held);
      await kill(children[winner]!);
      children[winner] = await start();
    }
    expect(await leftovers()).toEqual([]);
  });

  it("belongs to one part of a process, until that gives it back", async () => {
    const first = await lockFile(file, "The state file");
    await expect(lockFile(file, "The state file")).rejects.toMatchObject({
      code: "exists",
      message: expect.stringContaining("The state file is in use") as string,
    });
    await first.release();
    await first.release();
    const second = await lockFile(file);
    expect([await first.isHeld(), await second.isHeld()]).toEqual([false, true]);
    await second.release();
  });

  it("is lost to who took it over while the process stood still, and stays with them", async () => {
    const lock = await lockFile(file);
    const theirs = JSON.stringify({
      ...holder(await readFile(`${file}.lock`, "utf8")),
      token: "x",
    });
    await writeFile(`${file}.lock`, theirs);
    expect(await lock.isHeld()).toBe(false);
    await lock.release();
    expect(await readFile(`${file}.lock`, "utf8")).toBe(theirs);
  });

  it("of another machine or container is respected while it shows life, and taken over when it does not", async () => {
    const lock = await lockFile(file);
    const text = await readFile(`${file}.lock`, "utf8");
    await lock.release();
    await writeFile(
      `${file}.lock`,
      JSON.stringify({ ...holder(text), system: "elsewhere", token: "x" }),
    );
    const beats = setInterval(() => void utimes(`${file}.lock`, new Date(), new Date()), 300);
    onTestFinished(() => clearInterval(beats));
    await expect(lockFile(file)).rejects.toMatchObject({
      code: "exists",
      message: expect.stringContaining("on elsewhere") as string,
    });
    clearInterval(beats);
    const mine = await lockFile(file);
    expect(await mine.isHeld()).toBe(true);
    await mine.release();
  });

  it("of a process that ended is taken over, also while its parent takes no notice of that", async () => {
    const lock = await lockFile(file);
    const own = holder(await readFile(`${file}.lock`, "utf8"));
    await lock.release();
    const parent = spawn("sh", ["-c", "sleep 60 & echo $!; exec sleep 60"]);
    onTestFinished(() => void parent.kill("SIGKILL"));
    const pid = Number(((await once(parent.stdout, "data")) as [Buffer])[0]);
    // A shell takes notice of it, at any moment until it is the other program.
    await until(async () => (await readFile(`/proc/${parent.pid}/comm`, "utf8")) === "sleep\n");
    process.kill(pid, "SIGKILL");
    await until(() => !isAlive(pid));
    const { start: started } = processOf(pid)!;
    await writeFile(`${file}.lock`, JSON.stringify({ ...own, pid, started, token: "x" }));
    const mine = await lockFile(file);
    expect(await mine.isHeld()).toBe(true);
    await mine.release();
  });

  it("of a process whose id is used again is taken over", async () => {
    const lock = await lockFile(file);
    const own = holder(await readFile(`${file}.lock`, "utf8"));
    await lock.release();
    for (const dead of [
      { ...own, token: "x" },
      ...(own.started === "" ? [] : [{ ...own, pid: process.ppid, started: "1", token: "x" }]),
      "half written",
    ]) {
      await writeFile(`${file}.lock`, typeof dead === "string" ? dead : JSON.stringify(dead));
      const mine = await lockFile(file);
      expect(await mine.isHeld()).toBe(true);
      await mine.release();
    }
  });
});

function holder(text: string): { readonly started: string } {
  return JSON.parse(text) as { started: string };
}
