import pino from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { PATIENCE } from "../../fixtures/ci.ts";
import { longestTurn } from "../../fixtures/turns.ts";
import { fixture, isAlive, record } from "./kit.ts";

const child = fixture("child.mjs");

describe("stdio channel", () => {
  it("carries messages both ways, in order, however many are sent at once", async () => {
    const channel = await record("node", [child, "echo"]);
    const sent = Array.from({ length: 2_000 }, (_, index) =>
      JSON.stringify({ id: index, text: "é".repeat(index % 50) }),
    );
    for (const message of sent) channel.send(message);
    await channel.until((message) => message === sent.at(-1));
    expect(channel.messages).toEqual(sent);
  });

  it("sends what was queued before close", async () => {
    const channel = await record("node", [child, "echo"], { times: { eof: 10_000 } });
    const size = 3_000_000;
    channel.send("x".repeat(size));
    const closed = channel.close();
    await closed;
    expect((await channel.ended).message).toBe('Server "sample" was closed.');
    expect(isAlive({ pid: channel.pid })).toBe(false);
  });

  it("reports a crash in the middle of a call at once, with its code and last words", async () => {
    const channel = await record("node", [child, "crash"]);
    channel.send("call");
    const error = await channel.ended;
    const now = Date.now();
    expect(error).toMatchObject({
      code: "upstream_error",
      data: { server: "sample", exitCode: 3, signal: null },
    });
    expect(error.message).toBe('Server "sample" exited with code 3.');
    const words = (error.cause as Error).message;
    expect(words).toMatch(/^last word at \d+$/);
    expect(now - Number(/at (\d+)/.exec(words)?.[1])).toBeLessThan(PATIENCE * 1_000);
    expect(channel.stderrTail).toMatch(/^first\nlast word at/);
    expect(channel.ends()).toBe(1);
  });

  it("reports a kill by its signal, and fails every later send at once", async () => {
    const channel = await record("node", [child, "echo"]);
    process.kill(channel.pid, "SIGKILL");
    const error = await channel.ended;
    expect(error.message).toBe('Server "sample" was killed by SIGKILL.');
    expect(() => channel.send("late")).toThrow(error);
    await channel.close();
    expect(channel.ends()).toBe(1);
  });

  it("delivers all output of a child that exits right after it, before it reports the end", async () => {
    for (let round = 0; round < 10; round++) {
      const channel = await record("node", [child, "last-word"]);
      channel.send("go");
      await channel.ended;
      expect(channel.messages).toHaveLength(1_000);
      expect(channel.messages.at(-1)).toBe("last");
    }
  });

  it("ends at once, and ends the rest, when a grandchild outlives its parent and holds the pipe", async () => {
    const channel = await record("node", [child, "orphan"]);
    const pid = Number(await channel.until(() => true));
    expect(isAlive({ pid })).toBe(true);
    channel.send("go");
    expect((await channel.ended).message).toBe('Server "sample" exited with code 0.');
    await channel.close();
    await expect.poll(() => isAlive({ pid })).toBe(false);
  });

  it("gives up a child that does not read once 64 MiB wait for it, and ends it", async () => {
    const channel = await record("node", [child, "deaf"]);
    await channel.until((message) => message === "ready");
    const block = "x".repeat(1_000_000);
    const sendAll = () => {
      for (let index = 0; index < 80; index++) channel.send(block);
    };
    expect(sendAll).toThrow('Server "sample" does not read its input.');
    expect((await channel.ended).message).toBe('Server "sample" does not read its input.');
    await channel.close();
    expect(isAlive({ pid: channel.pid })).toBe(false);
  });

  it("closes a child whose input is full and that never reads", async () => {
    const channel = await record("node", [child, "deaf"]);
    channel.send("x".repeat(10_000_000));
    await channel.until((message) => message === "ready");
    await channel.close();
    expect(isAlive({ pid: channel.pid })).toBe(false);
  });

  it("reports a child that dies with its input full", async () => {
    const channel = await record("node", [child, "deaf"]);
    await channel.until((message) => message === "ready");
    channel.send("x".repeat(10_000_000));
    setImmediate(() => process.kill(channel.pid, "SIGKILL"));
    expect((await channel.ended).message).toBe('Server "sample" was killed by SIGKILL.');
    expect(() => channel.send("late")).toThrow("was killed by SIGKILL");
  });

  it("gives up a child that closed its output but lives", async () => {
    const channel = await record("node", [child, "mute"]);
    expect((await channel.ended).message).toBe('Server "sample" closed its output.');
    await channel.close();
    expect(isAlive({ pid: channel.pid })).toBe(false);
  });

  it("hands on garbage as it is and goes on", async () => {
    const channel = await record("node", [child, "garbage"]);
    await channel.until((message) => message === "good");
    expect(channel.messages).toHaveLength(3);
    expect(channel.messages[0]).toBe("\uFFFD");
    expect(channel.ends()).toBe(0);
  });

  it("delivers a message of 50 MB whole, with an event-loop lag under 300 ms", async () => {
    let arrive!: (message: { chunks: readonly Buffer[]; length: number }) => void;
    const arrived = new Promise<Parameters<typeof arrive>[0]>((settle) => (arrive = settle));
    const bytes = 50_000_000;
    const longest = await longestTurn(async () => {
      const channel = await record("node", [child, "line", bytes], {
        onMessage: (chunks, length) => arrive({ chunks, length }),
      });
      onTestFinished(() => channel.close());
      await arrived;
    });
    const { chunks, length } = await arrived;
    expect(length).toBe(bytes);
    let correct = true;
    let at = 0;
    for (const chunk of chunks)
      for (const byte of chunk) correct &&= byte === (at++ % 2 === 0 ? 0xc3 : 0xa9);
    expect(correct).toBe(true);
    expect(longest).toBeLessThan(300);
  });

  it("drops a message above the limit, tells its first bytes, and the next one arrives", async () => {
    const channel = await record("node", [child, "line", 20_000_000], { maxMessage: 1_000_000 });
    channel.send("next");
    await channel.until((message) => message === "next");
    expect(channel.messages).toEqual(["next"]);
    expect(channel.oversize).toEqual([
      { head: Buffer.from("é".repeat(2_048)).toString("latin1"), length: 20_000_000 },
    ]);
  });

  it("survives 100 MB of stderr with bounded memory and a bounded log", async () => {
    const lines: string[] = [];
    const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
    const before = process.memoryUsage();
    let peak = 0;
    const sampler = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 20);
    const channel = await record("node", [child, "stderr", 100_000_000], { log });
    await channel.until((message) => message === "done");
    clearInterval(sampler);
    await expect.poll(() => channel.stderrTail.endsWith("the end\n")).toBe(true);
    expect(channel.stderrTail.length).toBeLessThanOrEqual(65_536);
    expect(peak - before.rss).toBeLessThan(60_000_000);
    expect(lines.length).toBeGreaterThan(100);
    expect(lines.length).toBeLessThan(5_000);
    expect(lines.some((line) => line.includes("too much"))).toBe(true);
  });
});
