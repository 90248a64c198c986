import { expect, it, onTestFinished } from "vitest";
import { connectClient } from "../../../core/testing/index.ts";
import { PATIENCE, UNHURRIED } from "../../fixtures/ci.ts";
import { lowest } from "../../fixtures/lowest.ts";
import { call, silent, start, startOne, statuses } from "./kit.ts";

it("A006, A044, A045: with 1,000 agents of 20 clients, agent_start takes less than 100 ms and agent_status of all less than 50", async () => {
  const { gateway } = await start(
    silent,
    { concurrency: 2_000 },
    { client: false, config: { limits: UNHURRIED } },
  );
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
  const timed = (work: () => Promise<unknown>) => async (): Promise<number> => {
    const from = performance.now();
    await work();
    return performance.now() - from;
  };
  // `npm run bench -- --only lifecycle` has median and tail, in processes of their own.
  const begin = timed(() => call(client, "agent_start", { contract: "x" }));
  expect(await lowest(PATIENCE * 100, begin)).toBeLessThan(PATIENCE * 100);
  const look = timed(() => statuses(client, ids));
  expect(await lowest(PATIENCE * 50, look)).toBeLessThan(PATIENCE * 50);
  const told = await statuses(client, ids);
  expect(told.map(({ agent_id, status }) => [agent_id, status])).toEqual(
    ids.map((id) => [id, "running"]),
  );
});
