import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { requireProgram } from "../../fixtures/programs.ts";
import { childEnvironment } from "../../../core/kit/environment.ts";
import { makeFolder } from "../../kit/folder.ts";
import { children, descriptors, fixture, record } from "./kit.ts";

const child = fixture("child.mjs");
let folder: string;

beforeAll(() => {
  folder = makeFolder();
});

describe("launch of a child", () => {
  it("says that a command is missing and what to do", async () => {
    const failed = record("no-such-command-xyz");
    await expect(failed).rejects.toMatchObject({
      name: "GatewayError",
      code: "upstream_error",
      message: 'Server "sample" cannot start: command "no-such-command-xyz" was not found.',
      hint: "Is it installed and on the PATH of the gateway?",
    });
  });

  it("says of a command with a path that the path is wrong, and gives no advice about PATH", async () => {
    for (const command of [join(folder, "server"), "./server"])
      await expect(record(command)).rejects.toMatchObject({
        message: 'Server "sample" cannot start: the file of command "server" does not exist.',
        hint: "Check its path in the entry: for a command with a slash, PATH is not searched.",
      });
  });

  it("says that a file is not executable, without telling its folder", async () => {
    const file = join(folder, "plain.txt");
    writeFileSync(file, "text");
    chmodSync(file, 0o644);
    await expect(record(file)).rejects.toThrow(
      'Server "sample" cannot start: command "plain.txt" is not executable.',
    );
    await expect(record(folder)).rejects.toThrow("is not executable");
  });

  it("says that the working directory is missing, not the command", async () => {
    const failed = record("node", [child, "echo"], { cwd: join(folder, "gone") });
    await expect(failed).rejects.toThrow(
      'Server "sample" cannot start: its working directory does not exist.',
    );
  });

  it("refuses a NUL character in any part", async () => {
    await expect(record("node", ["a\0b"])).rejects.toThrow("NUL");
    await expect(record("node", [], { env: { A: "a\0b" } })).rejects.toThrow("NUL");
    await expect(record("no\0de")).rejects.toThrow("NUL");
  });

  it("never asks a shell: an argument stays one argument, whatever it holds", async () => {
    const hostile = ["$(touch pwned)", "; touch pwned", "a b", "`id`", "--", "-e", '"', "*"];
    const channel = await record("node", [
      "-e",
      "console.log(JSON.stringify(process.argv.slice(1)))",
      "--",
      ...hostile,
    ]);
    expect(JSON.parse(await channel.until(() => true))).toEqual(hostile);
  });

  it("finds a command on the PATH of its entry alone", async () => {
    const script = join(folder, "only-here");
    writeFileSync(script, "#!/bin/sh\necho found\n");
    chmodSync(script, 0o755);
    const channel = await record("only-here", [], { env: { PATH: folder } });
    expect(await channel.until(() => true)).toBe("found");
    await expect(record("node", [], { env: { PATH: folder } })).rejects.toThrow("not found");
  });

  it("finds a command relative to its working directory", async () => {
    writeFileSync(join(folder, "relative"), "#!/bin/sh\necho found\n", { mode: 0o755 });
    const channel = await record("./relative", [], { cwd: folder });
    expect(await channel.until(() => true)).toBe("found");
  });

  it("reports an interpreter that is missing as the end of the child", async () => {
    writeFileSync(join(folder, "orphaned"), "#!/usr/bin/env no-such-interpreter\n", {
      mode: 0o755,
    });
    const channel = await record(join(folder, "orphaned"));
    const error = await channel.ended;
    expect(error.message).toMatch(/exited with code 127\.$/);
    expect((error.cause as Error).message).toMatch(/no-such-interpreter/);
  });

  it("fails cleanly when descriptors run out, and works again when there are some", async () => {
    requireProgram("prlimit");
    await (await record("node", [child, "echo"])).close();
    await expect.poll(() => children()).toEqual([]);
    const limits = await narrowDescriptors();
    const before = descriptors();
    const error = await record("node", [child, "echo"]).catch((reason: unknown) => reason);
    const after = descriptors();
    await limits.restore();

    expect(error).toMatchObject({
      code: "upstream_error",
      message: 'Server "sample" cannot start: the gateway has too many open files.',
    });
    expect(after).toBe(before);
    const channel = await record("node", [child, "echo"]);
    channel.send("alive");
    await channel.until((message) => message === "alive");
    await channel.close();
    await expect.poll(() => children()).toEqual([]);
  });
});

/** Takes this process all descriptors but a few; another process must do it and give them back, since we then cannot spawn. */
async function narrowDescriptors(): Promise<{ restore(): Promise<void> }> {
  const limit = /Max open files\s+(\d+)/.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
  const prlimit = `prlimit --pid=${process.pid} --nofile`;
  const script = `${prlimit}=${descriptors() + 6}:; echo done; read _; ${prlimit}=${limit}:`;
  const other = spawn("sh", ["-c", script], { stdio: ["pipe", "pipe", "ignore"] });
  await once(other.stdout, "data");
  const restore = async () => {
    const exited = once(other, "exit");
    other.stdin.write("\n");
    await exited;
  };
  return { restore };
}

describe("environment of a child", () => {
  it("canary: nothing of the gateway's environment reaches a child, by environ or argv, except the safe names", async () => {
    const secrets = {
      CANARY: "canary-1",
      NODE_OPTIONS: "--no-warnings",
      PYTHONPATH: "/canary-2",
      LD_LIBRARY_PATH: "/canary-3",
    };
    const kept = Object.fromEntries(Object.keys(secrets).map((name) => [name, process.env[name]]));
    Object.assign(process.env, secrets, { LC_ALL: "C" });
    try {
      const channel = await record("node", [child, "echo"], { env: { TOKEN: "declared" } });
      channel.send("up");
      await channel.until((message) => message === "up");
      const seen = readFileSync(`/proc/${channel.pid}/environ`, "utf8").split("\0").filter(Boolean);
      const names = seen.map((entry) => entry.slice(0, entry.indexOf("=")));
      const safe = /^(HOME|LANG|LANGUAGE|LOGNAME|PATH|SHELL|TERM|TMPDIR|TZ|USER|LC_\w+|TOKEN)$/;
      expect(names.filter((name) => !safe.test(name))).toEqual([]);
      expect(seen).toContain("TOKEN=declared");
      expect(names).toContain("PATH");
      const argv = readFileSync(`/proc/${channel.pid}/cmdline`, "utf8");
      expect(argv.split("\0").filter(Boolean)).toEqual(["node", child, "echo"]);
    } finally {
      for (const [name, value] of Object.entries(kept)) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
      delete process.env["LC_ALL"];
    }
  });

  it("hands loader variables on only when the entry declares them", () => {
    const own = {
      PATH: "/bin",
      LD_PRELOAD: "a",
      DYLD_INSERT_LIBRARIES: "b",
      NODE_OPTIONS: "c",
      PYTHONPATH: "d",
      HOME: "/h",
    };
    expect(childEnvironment({}, own, "linux")).toEqual({ PATH: "/bin", HOME: "/h" });
    expect(childEnvironment({ LD_PRELOAD: "mine", HOME: "/other" }, own, "linux")).toEqual({
      PATH: "/bin",
      HOME: "/other",
      LD_PRELOAD: "mine",
    });
  });

  it("drops exported shell functions, and knows the names of Windows in any case", () => {
    expect(childEnvironment({}, { SHELL: "() { :; }; id", TERM: "xterm" }, "linux")).toEqual({
      TERM: "xterm",
    });
    const windows = { Path: "C:\\bin", SystemRoot: "C:\\Windows", SECRET: "x" };
    expect(childEnvironment({}, windows, "win32")).toEqual({
      Path: "C:\\bin",
      SystemRoot: "C:\\Windows",
    });
  });
});
