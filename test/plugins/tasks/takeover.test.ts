import { expect, it, onTestFinished } from "vitest";
import { Answer, type Call, definePlugin, type GatewayError } from "propylon";
import { createPrincipal } from "propylon/kit";
import { Store } from "propylon/store";
import { setupGateway } from "propylon/testing";
import type { TaskLimits, TaskOrigin } from "propylon/plugins/tasks";
import { TaskRegistry } from "../../../plugins/tasks/tasks.ts";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { deferred } from "../../kit/deferred.ts";
import { until } from "../../kit/until.ts";

const TABLE = "holder/mcp";
const ALICE = createPrincipal({ id: "alice", kind: "key", roles: new Set(["caller"]) });
const MUCH = 1_000_000;
const LIMITS: TaskLimits = {
  maxRunning: 100,
  maxRunningEach: 100,
  maxTasks: 100,
  maxTasksEach: 100,
  maxTaskSize: MUCH,
  maxTotalSize: MUCH,
  maxTotalSizeEach: MUCH,
  ttl: 60_000,
  evicts: false,
};

/** A replica with tasks of its own. */
async function startReplica(kept: KeptStore, limits: Partial<TaskLimits> = {}) {
  const held: { store?: Store } = {};
  const holder = definePlugin({
    name: "holder",
    inject: { store: Store },
    setup: ({ services }) => void (held.store = services.store),
  });
  await setupGateway({
    client: false,
    plugins: [kept.plugin, holder],
    config: { store: "kept" },
  });
  const registry = new TaskRegistry(held.store!);
  onTestFinished(() => registry.close());
  const table = registry.open("mcp", { ...LIMITS, ...limits });
  await table.load();
  const begin = (origin?: TaskOrigin) =>
    table.begin({ server: "server", name: "tool", principal: ALICE, origin, cancel() {} });
  return { registry, table, begin };
}

const stored = async ({ driver }: KeptStore, id: string): Promise<string | undefined> =>
  (await driver.get(TABLE, id))?.value;

it("a task of a replica that is gone has failed in the store, though nobody asks for it", async () => {
  const kept = new KeptStore({ shared: true });
  const [dead, alive] = [await startReplica(kept), await startReplica(kept)];
  const { id } = await dead.begin();
  await alive.registry.takeOver();
  expect(await stored(kept, id)).toContain('"working"');
  await kept.loseGateway();
  await alive.registry.takeOver();
  await until(async () => (await stored(kept, id))?.includes('"failed"'));
});

it("a task that ended at a replica that is gone is removed when its time is over", async () => {
  const kept = new KeptStore({ shared: true });
  const dead = await startReplica(kept);
  const alive = await startReplica(kept, { ttl: 50 });
  const task = await dead.begin();
  await task.finish(Answer.result({ content: [] }));
  await kept.loseGateway();
  expect(await stored(kept, task.id)).toContain('"completed"');
  await alive.registry.takeOver();
  await until(async () => (await stored(kept, task.id)) === undefined);
});

it("of the tasks that ended at a replica that is gone as many are kept as of one's own", async () => {
  const kept = new KeptStore({ shared: true });
  const dead = await startReplica(kept);
  const alive = await startReplica(kept, { maxTasks: 2 });
  const begun = [await dead.begin(), await dead.begin(), await dead.begin()];
  // The store lists them the other way round.
  const tasks = begun.toSorted((a, b) => (a.id < b.id ? 1 : -1));
  for (const task of tasks) {
    const before = Date.now();
    await until(() => Date.now() > before);
    await task.finish(Answer.result({ content: [] }));
  }
  await kept.loseGateway();
  await alive.registry.takeOver();
  expect(alive.table.counts.kept).toBe(2);
  const [first, ...others] = tasks.map(({ id }) => id);
  await until(async () => (await stored(kept, first!)) === undefined);
  for (const id of others) expect(await stored(kept, id)).toContain('"completed"');
});

it("a task of a replica that joins while what is left is read stays with it", async () => {
  const kept = new KeptStore({ shared: true });
  await startReplica(kept);
  const alive = await startReplica(kept);
  await alive.registry.takeOver();
  await kept.loseGateway();
  const { driver } = kept;
  const list = driver.list.bind(driver);
  const { promise: opened, resolve: open } = deferred();
  let isListing = false;
  driver.list = async (table, ...more) => {
    if (table === TABLE) {
      isListing = true;
      await opened;
    }
    return list(table, ...more);
  };
  const over = alive.registry.takeOver();
  await until(() => isListing);
  driver.list = list;
  const joined = await startReplica(kept);
  const task = await joined.begin();
  open();
  await over;
  expect(alive.table.counts.kept).toBe(0);
  await task.finish(Answer.result({ content: [] }));
  expect(await stored(kept, task.id)).toContain('"completed"');
});

it("of two replicas that take over a task of a server one goes on with it", async () => {
  const kept = new KeptStore({ shared: true });
  const dead = await startReplica(kept);
  const [slow, fast] = [await startReplica(kept), await startReplica(kept)];
  const [slowRuns, fastRuns] = [slow, fast].map(({ registry }) => resume(registry));
  await slow.registry.takeOver();
  const { id } = await dead.begin({ id: "there", capabilities: {} });
  await kept.loseGateway();
  const { driver } = kept;
  const put = driver.put.bind(driver);
  const { promise: opened, resolve: open } = deferred();
  let isWriting = false;
  driver.put = async (table, ...more) => {
    if (table === TABLE) {
      isWriting = true;
      await opened;
    }
    return put(table, ...more);
  };
  await slow.registry.takeOver();
  await until(() => isWriting);
  driver.put = put;
  expect(slowRuns).toEqual([undefined]);
  expect((await fast.registry.find(id, ALICE))?.state).toBe("working");
  await until(async () => (await stored(kept, id)) !== undefined && fastRuns!.length === 1);
  open();
  await until(() => slow.table.counts.kept === 0);
  expect(slowRuns).toEqual(["draining"]);
  expect(fastRuns).toEqual([undefined]);
  await slow.registry.close();
  expect(await stored(kept, id)).toContain('"working"');
});

/** Lets it go on with tasks of servers. @returns what ended each of them */
function resume(registry: TaskRegistry): readonly (string | undefined)[] {
  const ends: (string | undefined)[] = [];
  const wait = ({ signal }: Call) =>
    new Promise((_, reject) => {
      const place = ends.push(undefined) - 1;
      signal.addEventListener("abort", () => {
        ends[place] = (signal.reason as GatewayError).code;
        reject(signal.reason as Error);
      });
    });
  const servers = new Map([["server", { resume: wait }]]);
  registry.resume({ servers, timeouts: () => ({ default: 60_000 }) } as never);
  return ends;
}
