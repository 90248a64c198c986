import { PATIENCE } from "../fixtures/ci.ts";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { storesOf } from "../fixtures/stores.ts";
import { until } from "../kit/until.ts";
import { useServer as startNats } from "../plugins/nats/kit.ts";
import { startServer } from "../plugins/postgres/kit.ts";
import { startFleet } from "./fleet.ts";
import { Outcome, RoamingClient, TOOLS } from "./roaming-client.ts";

/** Many more in the campaign, whose kills follow each other by time. */
const KILLS = Number(process.env["REPLICA_KILLS"] ?? 2);
const CLIENTS = Number(process.env["REPLICA_CLIENTS"] ?? 6);
const EXCHANGES = Number(process.env["REPLICA_EXCHANGES"] ?? 0);
const KILL_MS = Number(process.env["REPLICA_KILL_MS"] ?? 0);
/** Exchanges a second that all clients begin at most. Two cores that are asked for more have answers that come too late, without any kill. */
const RATE = Number(process.env["REPLICA_RATE"] ?? Infinity);

it.each(storesOf(["PostgreSQL", startServer], ["NATS", startNats]))(
  `three gateways of one %s, killed in turn ${KILLS} times: sessions go on, and each exchange ends`,
  { timeout: PATIENCE * (90_000 + KILLS * 30_000 + EXCHANGES * (60 + 2_000 / RATE)) },
  async (store, start) => {
    const { url } = await start();
    const fleet = await startFleet(TOOLS, [url, url, url]);
    const outcome = new Outcome();
    const clients: RoamingClient[] = [];
    while (clients.length < CLIENTS) {
      const some = Array.from({ length: Math.min(20, CLIENTS - clients.length) });
      clients.push(...(await Promise.all(some.map(() => RoamingClient.connect(fleet, outcome)))));
    }
    const ids = clients.map(({ id }) => id);
    let isOver = false;
    // A client whose every request fails at once would leave no turn to anything else.
    onTestFinished(() => void (isOver = true));
    const loads = clients.map(async (client, at) => {
      for (let round = at; !isOver; round++) {
        await client.exchange(`${at}-${round}`, round);
        await pause(((2 * Math.random() * CLIENTS) / RATE) * 1_000);
      }
    });
    let kills = 0;
    onTestFinished(() => {
      const { done, lost, terminated, wrong } = outcome;
      const figures = { store, clients: CLIENTS, kills, done, lost, terminated };
      const counts: Record<string, number> = {};
      // Names are two numbers, of the client and its round.
      for (const kind of wrong.map((text) => text.replace(/\d+-\d+/, "*")))
        counts[kind] = (counts[kind] ?? 0) + 1;
      const told = { ...figures, wrong: counts, some: wrong.slice(0, 5) };
      if (EXCHANGES > 0) process.stdout.write(`${JSON.stringify(told)}\n`);
    });
    for (; kills < KILLS || outcome.done < EXCHANGES; kills++) {
      const [before, since] = [outcome.done, performance.now()];
      const wanted = KILL_MS > 0 ? 1 : 10 * CLIENTS;
      await until(() => outcome.done >= before + wanted, 60_000);
      const program = fleet[kills % fleet.length]!;
      outcome.killed.add(program.pid);
      await program.kill();
      await program.start();
      await until(() => performance.now() - since >= KILL_MS, 60_000);
    }
    isOver = true;
    await Promise.all(loads);
    const { lost, terminated, wrong } = outcome;
    expect({ terminated, wrong }).toEqual({ terminated: 0, wrong: [] });
    expect(clients.map(({ id }) => id)).toEqual(ids);
    // No more than each client had at the gateway that was killed.
    expect(lost).toBeLessThanOrEqual(kills * CLIENTS);
  },
);
