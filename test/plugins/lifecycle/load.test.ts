import { expect, it, onTestFinished } from "vitest";
import { connectClient } from "../../../core/testing/index.ts";
import { call, silent, start, startOne, statuses } from "./kit.ts";

/** Median of the milliseconds that pieces of work take, one after the other. */
async function medianOf(work: readonly (() => Promise<unknown>)[]): Promise<number> {
  const times: number[] = [];
  for (const one of work) {
    const from = performance.now();
    await one();
    times.push(performance.now() - from);
  }
  return times.toSorted((a, b) => a - b)[times.length >> 1]!;
}

it("A006, A044, A045: with 1,000 agents of 20 clients, agent_start takes less than 100 ms and agent_status of all less than 50", async () => {
  const { gateway } = await start(silent, { concurrency: 2_000 }, { client: false });
  const clients = await Promise.all(
    Array.from({ length: 20 }, () => connectClient(gateway.endpoints[0]!.url)),
  );
  onTestFinished(() => Promise.all(clients.map((client) => client.close())).then(() => {}));
  const ids = (
    await Promise.all(
      clients.map(async (client) =>
        Promise.all(Array.from({ length: 50 }, () => startOne(client))),
      ),
    )
  ).flat();
  expect(new Set(ids).size).toBe(1_000);
  const client = clients[0]!;
  const starts = Array.from(
    { length: 21 },
    () => () => call(client, "agent_start", { contract: "x" }),
  );
  const asks = Array.from({ length: 21 }, () => () => statuses(client, ids));
  // Medians: `npm run bench -- --only lifecycle` has the tail, in processes of its own.
  expect(await medianOf(starts)).toBeLessThan(100);
  expect(await medianOf(asks)).toBeLessThan(50);
  const told = await statuses(client, ids);
  expect(told.map(({ agent_id, status }) => [agent_id, status])).toEqual(
    ids.map((id) => [id, "running"]),
  );
}, 60_000);
