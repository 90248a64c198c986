import { fork, type ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { fileURLToPath } from "node:url";
import type { StoreDriver } from "propylon/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MemoryDriver } from "../../../core/store/memory.ts";
import { testStore } from "../../../core/testing/index.ts";
import { ChannelDriver } from "../../../core/workers/channel-driver.ts";
import { type ChannelPort, WorkerChannel } from "../../../core/workers/channel.ts";
import { serveStore } from "../../../core/workers/serve-store.ts";
import { until } from "../../kit/until.ts";

const HOST = fileURLToPath(new URL("store-host.mjs", import.meta.url));

/** The process that keeps the store: the roles of parent and child are the other way round here, their pipe is the same. */
let host: ChildProcess;
let opened = 0;

beforeAll(() => {
  host = fork(HOST, { serialization: "advanced" });
  host.setMaxListeners(0);
});
afterAll(() => host.kill());

/** One of many channels over the pipe to the host. */
function openPort(): ChannelPort & { close(): void } {
  const port = new EventEmitter();
  const number = ++opened;
  host.on("message", (message: { readonly port: number; readonly text: string }) => {
    if (message.port === number) port.emit("message", message.text);
  });
  return Object.assign(port, {
    send: (text: string, sent: (error: Error | null) => void) =>
      host.send({ port: number, text }, undefined, undefined, sent),
    close: () => void host.send({ port: number }),
  });
}

function open(): Promise<StoreDriver> {
  const port = openPort();
  const driver = new ChannelDriver(new WorkerChannel(port), false);
  const close = driver.close.bind(driver);
  driver.close = async () => {
    await close();
    port.close();
  };
  return Promise.resolve(driver);
}

testStore("of the primary, over a pipe", {
  open,
  steps: Number(process.env["STORE_STEPS"] ?? 800),
});

/** Two ends in one process; what is sent waits until `flow` lets it go. */
function pipe(): { ends: readonly [ChannelPort & EventEmitter, ChannelPort & EventEmitter] } {
  const [left, right] = [new EventEmitter(), new EventEmitter()];
  const sendTo = (other: EventEmitter) => ({
    send(text: string, sent: (error: Error | null) => void) {
      setImmediate(() => {
        sent(null);
        other.emit("message", text);
      });
    },
  });
  return { ends: [Object.assign(left, sendTo(right)), Object.assign(right, sendTo(left))] };
}

describe("the channel of a worker", () => {
  it("refuses what is asked when the other end is gone, also what waits", async () => {
    const { ends } = pipe();
    const channel = new WorkerChannel(ends[0]);
    const waiting = channel.ask("never");
    ends[0].emit("disconnect");
    await expect(waiting).rejects.toMatchObject({ code: "unavailable" });
    await expect(channel.ask("more")).rejects.toMatchObject({ code: "unavailable" });
    expect(channel.closed.aborted).toBe(true);
  });

  it("carries an error as it is, and of a strange one the words only", async () => {
    const { ends } = pipe();
    const [asking, answering] = [new WorkerChannel(ends[0]), new WorkerChannel(ends[1])];
    const { GatewayError } = await import("../../../core/kit/errors.ts");
    answering.answer("known", () => {
      throw new GatewayError("exists", "There.", { hint: "Look.", data: { a: 1 } });
    });
    answering.answer("strange", () => {
      throw new TypeError("words");
    });
    await expect(asking.ask("known")).rejects.toMatchObject({
      code: "exists",
      message: "There.",
      hint: "Look.",
      data: { a: 1 },
    });
    await expect(asking.ask("strange")).rejects.toMatchObject({ name: "Error", message: "words" });
    await expect(asking.ask("nobody")).rejects.toMatchObject({ code: "unavailable" });
  });

  it.each(["no JSON", "null", "7", '"text"', "[]", '{"else":1}'])(
    "does not mind %s of somebody else",
    async (text) => {
      const { ends } = pipe();
      const [asking, answering] = [new WorkerChannel(ends[0]), new WorkerChannel(ends[1])];
      answering.answer("echo", (body) => body);
      ends[0].emit("message", text);
      ends[1].emit("message", text);
      ends[1].emit("message", { to: "echo" });
      expect(await asking.ask("echo", { a: 1 })).toEqual({ a: 1 });
    },
  );

  it("is closed when the other end reads nothing any more, before it fills the memory", async () => {
    const port = Object.assign(new EventEmitter(), { send: () => undefined });
    const channel = new WorkerChannel(port);
    const waiting = channel.ask("never").catch((error: unknown) => error);
    for (let at = 0; at < 70 && !channel.closed.aborted; at++)
      channel.tell("news", "x".repeat(1024 * 1024));
    expect(channel.closed.aborted).toBe(true);
    expect(await waiting).toMatchObject({ code: "unavailable" });
  });

  it("refuses more questions than may wait", async () => {
    const port = Object.assign(new EventEmitter(), { send: () => undefined });
    const channel = new WorkerChannel(port);
    for (let at = 0; at < 10_000; at++) channel.ask("never").catch(() => {});
    await expect(channel.ask("one more")).rejects.toMatchObject({ code: "unavailable" });
    expect(channel.closed.aborted).toBe(false);
  });
});

describe("a worker that ends", () => {
  it("leaves no subscription behind", async () => {
    const { ends } = pipe();
    const driver = new MemoryDriver();
    let listening = 0;
    const watch = driver.watch.bind(driver);
    driver.watch = async (bucket, changed) => {
      const stop = await watch(bucket, changed);
      listening++;
      return () => {
        listening--;
        return stop();
      };
    };
    serveStore(driver, new WorkerChannel(ends[0]));
    const worker = new ChannelDriver(new WorkerChannel(ends[1]), false);
    const stop = await worker.watch("a", () => {});
    await worker.watch("b", () => {});
    expect(listening).toBe(2);
    await stop();
    await until(() => listening === 1);
    ends[0].emit("disconnect");
    await until(() => listening === 0);
  });

  it("cannot call what is no operation of a store", async () => {
    const { ends } = pipe();
    serveStore(new MemoryDriver(), new WorkerChannel(ends[0]));
    const channel = new WorkerChannel(ends[1]);
    for (const operation of ["close", "constructor", "__proto__", "watch"])
      await expect(channel.ask("store", { operation, args: [] })).rejects.toMatchObject({
        code: "invalid",
      });
  });
});
