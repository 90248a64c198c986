import { pino } from "pino";
import type { EventMessage } from "propylon/plugins/events";
import { expect, it, onTestFinished } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";
import { Channel } from "../../../plugins/events/channel.ts";
import type { Frame } from "../../../plugins/events/event.ts";
import { KINDS } from "../../../plugins/events/kinds.ts";
import { Stream } from "../../../plugins/events/stream.ts";
import type { Subscription } from "../../../plugins/events/subscription.ts";
import { until } from "../../kit/until.ts";

const BOUNDS = { events: 5_000, bytes: 10_000_000 };

/** A store of several gateways in one process, that can be away, and can forget to say that it wrote. */
class ScriptedDriver extends MemoryDriver {
  override readonly shared = true as never;
  isAway = false;
  isForgetful = false;

  override async append(log: string, values: readonly string[]): Promise<number> {
    if (this.isAway) throw new Error("away");
    const seq = await super.append(log, values);
    if (this.isForgetful) throw new Error("it is not known whether it was written");
    return seq;
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }
}

/** What another gateway sees of a driver: it may read later. */
class SlowView extends ScriptedDriver {
  /** Reads of logs wait for it. */
  readable: Promise<void> = Promise.resolve();
  readonly #seen: ScriptedDriver;

  constructor(seen: ScriptedDriver) {
    super();
    this.#seen = seen;
  }

  override get(...args: Parameters<ScriptedDriver["get"]>): ReturnType<ScriptedDriver["get"]> {
    return this.#seen.get(...args);
  }

  override put(...args: Parameters<ScriptedDriver["put"]>): ReturnType<ScriptedDriver["put"]> {
    return this.#seen.put(...args);
  }

  override async read(
    log: string,
    after: number,
    limit: number,
  ): ReturnType<ScriptedDriver["read"]> {
    // A question for one place is no part of what a gateway follows.
    if (limit > 1) await this.readable;
    return this.#seen.read(log, after, limit);
  }

  override follow(log: string, appended: () => void): ReturnType<ScriptedDriver["follow"]> {
    return this.#seen.follow(log, appended);
  }
}

async function openChannel(driver: ScriptedDriver): Promise<Channel> {
  const store = new GatewayStore(driver, pino({ level: "silent" }));
  const channel = new Channel(store.scope("events"));
  await channel.open(BOUNDS);
  onTestFinished(async () => {
    await channel.dispose();
    await store.close();
  });
  return channel;
}

/** Reads along; messages as they came. */
function read(channel: Channel, lastEventId?: string): EventMessage[] {
  const messages: EventMessage[] = [];
  const outlet = {
    unsent: 0,
    write: ({ text }: Frame) => void messages.push(JSON.parse(text) as EventMessage),
    beat() {},
    end() {},
    cut() {},
  };
  const subscription: Subscription = {
    audience: "operator",
    reader: "key:ops",
    kinds: new Set(KINDS),
    isOpen: true,
    accesses: new Set(["viewer", "operator"]),
    level: "info",
    lastEventId,
  };
  const stream = new Stream(outlet, subscription, 1_000_000_000);
  channel.join(stream, 60_000, 10);
  onTestFinished(() => channel.leave(stream));
  channel.greet(stream, []);
  return messages;
}

const add = (channel: Channel, server: string): void =>
  channel.publish("server_added", { server }, BOUNDS);
const serversIn = (messages: readonly EventMessage[]): string[] =>
  messages.flatMap(({ data }) => ("server" in data ? [data.server] : []));
const gapsIn = (messages: readonly EventMessage[]): EventMessage["data"][] =>
  messages.flatMap(({ event, data }) => (event === "gap" ? [data] : []));

it("an event that the store wrote twice is told once", async () => {
  const driver = new ScriptedDriver();
  const channel = await openChannel(driver);
  const messages = read(channel);
  driver.isForgetful = true;
  add(channel, "a");
  await until(() => serversIn(messages).length > 0);
  driver.isForgetful = false;
  add(channel, "b");
  await until(() => serversIn(messages).includes("b"));
  expect(serversIn(messages)).toEqual(["a", "b"]);
  expect(gapsIn(messages)).toEqual([]);
});

it("a store that is away delays 1,000 events; what is beyond them is a gap at every gateway", async () => {
  const driver = new ScriptedDriver();
  const [here, there] = [await openChannel(driver), await openChannel(driver)];
  const [near, far] = [read(here), read(there)];
  add(here, "first");
  await until(() => serversIn(far).length === 1);
  const before = far.find(({ event }) => event === "server_added")!.id!;
  driver.isAway = true;
  for (let at = 0; at < 1_100; at++) add(here, `s${at}`);
  driver.isAway = false;
  for (const messages of [near, far]) {
    await until(() => serversIn(messages).includes("s1099"));
    expect(serversIn(messages)).toHaveLength(1_001);
    expect(gapsIn(messages)).toMatchObject([{ reason: "lost", missed: 100 }]);
  }
  // Who comes back from before the gap is told of one, too.
  expect(gapsIn(read(there, before))).toMatchObject([{ reason: "expired", missed: null }]);
});

it("a reader that moves to a gateway that is behind is told nothing twice, and nothing is left out", async () => {
  const driver = new ScriptedDriver();
  const slow = new SlowView(driver);
  const [ahead, behind] = [await openChannel(driver), await openChannel(slow)];
  const messages = read(ahead);
  add(ahead, "a");
  await until(() => serversIn(messages).length === 1);
  let release!: () => void;
  slow.readable = new Promise((resolve) => (release = resolve));
  for (const server of ["b", "c"]) add(ahead, server);
  await until(() => serversIn(messages).length === 3);
  const moved = read(behind, messages.at(-1)!.id);
  add(ahead, "d");
  await until(() => serversIn(messages).includes("d"));
  expect(serversIn(moved)).toEqual([]);
  release();
  await until(() => serversIn(moved).length > 0);
  expect(serversIn(moved)).toEqual(["d"]);
  expect(gapsIn(moved)).toEqual([]);
});

it("ids of a store that was emptied since are of an earlier run", async () => {
  const channel = await openChannel(new ScriptedDriver());
  const other = await openChannel(new ScriptedDriver());
  expect(other.instance).not.toBe(channel.instance);
  const messages = read(other, channel.lastId);
  expect(gapsIn(messages)).toMatchObject([{ reason: "restarted" }]);
});
