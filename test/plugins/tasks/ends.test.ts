import { expect, it } from "vitest";
import { definePlugin, isGatewayError } from "propylon";
import { createPrincipal } from "propylon/kit";
import { setupGateway } from "propylon/testing";
import tasks, { type TaskHandle, Tasks, type TaskService } from "propylon/plugins/tasks";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { deferred } from "../../kit/deferred.ts";
import { until } from "../../kit/until.ts";

const ALICE = createPrincipal({ id: "alice", kind: "key", roles: new Set(["caller"]) });

/** A task whose next write the store refuses once the test says so. */
async function startTask() {
  const kept = new KeptStore();
  const held: { service?: TaskService } = {};
  const holder = definePlugin({
    name: "holder",
    inject: { tasks: Tasks },
    setup: ({ services }) => void (held.service = services.tasks),
  });
  await setupGateway({
    client: false,
    plugins: [kept.plugin, tasks, holder],
    config: { store: "kept" },
  });
  const cut: Error[] = [];
  const handle = await held.service!.calls.begin({
    server: "server",
    name: "tool",
    principal: ALICE,
    cancel: (reason) => {
      cut.push(reason);
      void handle.finish(reason);
    },
  });
  return { handle, cut, ...refuseNext(kept) };
}

function refuseNext({ driver }: KeptStore) {
  const put = driver.put.bind(driver);
  const states: string[] = [];
  const { promise: refused, resolve: refuse } = deferred();
  driver.put = async (table, key, value, ...more) => {
    if (!table.includes("mcp")) return put(table, key, value, ...more);
    states.push(/"state":"(\w+)"/.exec(value)![1]!);
    if (states.length > 1) return put(table, key, value, ...more);
    await refused;
    throw new Error("away");
  };
  return { states, refuse };
}

/** What a cancellation comes to. */
const cancel = (handle: TaskHandle): Promise<string> =>
  handle.cancel().then(
    () => "cancelled",
    (error: unknown) => (isGatewayError(error) ? error.code : String(error)),
  );

it("of cancellations that wait for one that the store refuses, one ends the task", async () => {
  const { handle, cut, states, refuse } = await startTask();
  const first = cancel(handle);
  await until(() => states.length === 1);
  const others = [cancel(handle), cancel(handle)];
  refuse();
  expect(await Promise.all([first, ...others])).toEqual(["unavailable", "cancelled", "cancelled"]);
  expect(handle.state).toBe("cancelled");
  expect(cut).toHaveLength(1);
  await handle.cancel();
  await handle.finish(new Error("late"));
  expect(states).toEqual(["cancelled", "working", "cancelled"]);
});

it("an end that the store refuses is not written by what waits behind it", async () => {
  const { handle, states, refuse } = await startTask();
  const cancelled = cancel(handle);
  await until(() => states.length === 1);
  const going = handle.goesOn({ id: "there", capabilities: {} });
  refuse();
  expect(await cancelled).toBe("unavailable");
  await going;
  expect(states).toEqual(["cancelled", "working"]);
  expect(handle.state).toBe("working");
});
