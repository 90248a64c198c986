import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { definePlugin } from "propylon";
import { setupGateway, type TestGateway } from "propylon/testing";
import { expect, it } from "vitest";
import { MemoryDriver } from "../../../core/store/memory.ts";
import { isAlive } from "../../fixtures/processes.ts";
import { deferred } from "../../kit/deferred.ts";
import { makeFolder } from "../../kit/folder.ts";
import { until } from "../../kit/until.ts";

const COUNTER = fileURLToPath(new URL("../../fixtures/upstreams/counter.mjs", import.meta.url));

/** A store of several gateways in one process. */
class SharedMemory extends MemoryDriver {
  override readonly shared = true as never;
  /** Leases and placements are not told of, and not read, until it resolves; for gateways that are `late`. */
  gate = Promise.resolve();
  /** Buckets that were read, with the keys. */
  readonly reads: string[] = [];
  /** Buckets that were listed. */
  readonly lists: string[] = [];

  override list(...asked: Parameters<MemoryDriver["list"]>): ReturnType<MemoryDriver["list"]> {
    this.lists.push(asked[0]);
    return super.list(...asked);
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }
}

/** What one gateway sees of it; it hears nothing any more when it is closed. */
function viewOf(memory: SharedMemory, isLate: boolean): MemoryDriver {
  const ends: (() => unknown)[] = [];
  const isHeldBack = (bucket: string): boolean => isLate && bucket.startsWith("servers/");
  const own: Partial<MemoryDriver> = {
    async get(bucket, key) {
      memory.reads.push(`${bucket} ${key}`);
      if (isHeldBack(bucket)) await memory.gate;
      return memory.get(bucket, key);
    },
    async subscribe(topic, listener) {
      const end = await memory.subscribe(topic, listener);
      ends.push(end);
      return end;
    },
    close: async () => {
      for (const end of ends) await end();
    },
  };
  return new Proxy(memory, {
    get(target, name) {
      const value = Reflect.get(own, name) ?? (Reflect.get(target, name, target) as unknown);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

interface Count {
  readonly count: number;
  readonly pid: number;
}

class Fleet {
  readonly memory = new SharedMemory();
  readonly #file: string;

  constructor() {
    const folder = makeFolder();
    this.#file = join(folder, "counter.log");
  }

  /** The entry of the server. */
  entry(changes: object = {}) {
    return { command: process.execPath, args: [COUNTER, this.#file], ...changes };
  }

  /** How often something was noted of all processes of the server. */
  times(what: string): number {
    const lines = readFileSync(this.#file, "utf8").split("\n");
    return lines.filter((line) => line.startsWith(`${what} `)).length;
  }

  /** How many processes of the server run. */
  get running(): number {
    const lines = readFileSync(this.#file, "utf8").split("\n");
    const pids = lines
      .filter((line) => line.startsWith("start "))
      .map((line) => line.split(" ")[1]);
    return pids.filter((pid) => isAlive(Number(pid))).length;
  }

  /** Has a gateway run another entry. */
  async apply({ gateway }: TestGateway, changes: object): Promise<void> {
    await gateway.apply({
      listeners: { main: { port: 0 } },
      store: "shared:memory",
      plugins: { "shared-memory": {} },
      servers: { counter: this.entry(changes) },
    });
  }

  start({ isLate = false, placement = "one" } = {}): Promise<TestGateway> {
    const store = definePlugin({
      name: "shared-memory",
      stores: { shared: { open: () => Promise.resolve(viewOf(this.memory, isLate)) } },
      setup() {},
    });
    const servers = { counter: this.entry({ placement }) };
    return setupGateway({
      plugins: [store],
      config: { store: "shared:memory", servers },
      client: { capabilities: { elicitation: {} } },
    });
  }
}

const placementOf = ({ gateway }: TestGateway) => gateway.servers.get("counter")!.status;

async function whenReady(one: TestGateway, isHere: boolean): Promise<void> {
  await until(() => {
    const { state, placement } = placementOf(one);
    return state === "ready" && placement?.here === isHere;
  });
}

async function count({ client }: TestGateway): Promise<Count> {
  const { content } = await client.callTool({ name: "count", arguments: {} });
  return JSON.parse((content as { text: string }[])[0]!.text) as Count;
}

it("a call asked of a gateway that had left before is carried out where the server runs then", async () => {
  const fleet = new Fleet();
  const holder = await fleet.start();
  await whenReady(holder, true);
  const other = await fleet.start({ isLate: true });
  await whenReady(other, false);
  const before = await count(other);
  // The other gateway hears of nothing before it has asked.
  let open = (): void => {};
  fleet.memory.gate = new Promise((resolve) => (open = resolve));
  await holder.gateway.close();
  fleet.memory.reads.length = 0;
  const call = count(other);
  call.catch(() => {});
  await until(() => fleet.memory.reads.some((read) => read.startsWith("core/")));
  open();
  const after = await call;
  expect(after).toEqual({ count: 1, pid: expect.not.stringMatching(String(before.pid)) });
  expect(fleet.times("start")).toBe(2);
  // What it speaks is known from the gateway that ran it.
  expect(fleet.times("server/discover")).toBe(1);
});

it("a reload that changes a placed server starts the new one where the old one ran, and both gateways call it", async () => {
  const fleet = new Fleet();
  const holder = await fleet.start();
  await whenReady(holder, true);
  const other = await fleet.start();
  await whenReady(other, false);
  const before = await count(other);
  for (const one of [other, holder]) await fleet.apply(one, { placement: "one", ping: 7_000 });
  const after = await until(async () => {
    const said = await count(other);
    return said.pid !== before.pid && said;
  });
  expect((await count(holder)).pid).toBe(after.pid);
  await until(() => fleet.running === 1);
  expect([placementOf(holder), placementOf(other)]).toMatchObject([
    { placement: { here: true, moves: 0 } },
    { placement: { here: false, moves: 0 } },
  ]);
});

it("a call that another gateway runs goes on when a reload takes its server away", async () => {
  const fleet = new Fleet();
  const holder = await fleet.start();
  await whenReady(holder, true);
  const other = await fleet.start();
  await whenReady(other, false);
  const hasBegun = new Promise<void>((resolve) => {
    other.client.setRequestHandler(ElicitRequestSchema, async () => {
      resolve();
      await answered;
      return { action: "accept" as const, content: { name: "Ada" } };
    });
  });
  const { promise: answered, resolve: answer } = deferred();
  const call = other.client.callTool({ name: "ask", arguments: {} });
  await hasBegun;
  await fleet.apply(other, { placement: "each" });
  await until(() => placementOf(other).placement === undefined);
  answer();
  expect((await call).content).toEqual([{ type: "text", text: '{"name":"Ada"}' }]);
});

it("a reload may place a server, and run it at each gateway again", async () => {
  const fleet = new Fleet();
  const all = [await fleet.start(), await fleet.start()];
  await until(() => all.every((one) => placementOf(one).state === "ready"));
  for (const one of all) await fleet.apply(one, { placement: "each" });
  const pidsOf = (): Promise<number[]> =>
    Promise.all(all.map(async (one) => (await count(one)).pid));
  // The one before serves on until the changed one does.
  await until(() => all.every((one) => placementOf(one).placement === undefined));
  expect(new Set(await pidsOf()).size).toBe(2);
  await until(() => fleet.running === 2);
  for (const one of all) await fleet.apply(one, { placement: "one" });
  await until(async () => new Set(await pidsOf()).size === 1);
  await until(() => fleet.running === 1);
});

it("a client hears of a resource that it watches before the server moves, after it, and after a reload", async () => {
  const fleet = new Fleet();
  const holder = await fleet.start();
  await whenReady(holder, true);
  const other = await fleet.start();
  await whenReady(other, false);
  let heard = 0;
  other.client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => void heard++);
  const { resources } = await other.client.listResources();
  await other.client.subscribeResource({ uri: resources[0]!.uri });
  const hears = async (): Promise<void> => {
    const before = heard;
    await until(async () => {
      await count(other);
      return heard > before;
    });
  };
  await hears();
  await fleet.apply(other, { placement: "one", ping: 7_000 });
  await fleet.apply(holder, { placement: "one", ping: 7_000 });
  await hears();
  await holder.gateway.close();
  await whenReady(other, true);
  await hears();
  await other.client.unsubscribeResource({ uri: resources[0]!.uri });
  await count(other);
  const before = heard;
  await count(other);
  expect(heard).toBe(before);
});

it("a gateway asks who else could run its servers when it ends, unless it has none to move", async () => {
  for (const [placement, questions] of [
    ["one", 1],
    ["each", 0],
  ] as const) {
    const fleet = new Fleet();
    const one = await fleet.start({ placement });
    await until(() => one.gateway.servers.get("counter")!.status.state === "ready");
    fleet.memory.lists.length = 0;
    await one.gateway.close();
    expect(fleet.memory.lists.filter((bucket) => bucket === "core/replicas")).toHaveLength(
      questions,
    );
  }
});
