import { expect, it } from "vitest";
import type { Orders } from "../fixtures/runtime/types.ts";
import type { Verdict } from "../fixtures/faults/history.ts";
import { FAULTS, lasting, randomOf, shuffled, type FaultName } from "./queue-storm.ts";
import type { Unfinished } from "./queue-observer.ts";
import { makeRig, type Rig } from "./queue-rig.ts";
import { requireProgram } from "../fixtures/programs.ts";
import { PATIENCE } from "../fixtures/ci.ts";

/** Many more in `npm run campaign -- queue`. */
const TASKS = Number(process.env["QUEUE_TASKS"] ?? 40);
const KILLS = Number(process.env["QUEUE_KILLS"] ?? 1);
/** Seconds without NATS at the end. */
const OUTAGE = Number(process.env["QUEUE_OUTAGE"] ?? 1);
const SEED = Number(process.env["QUEUE_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
/** Tasks that wait while the next fault strikes. */
const BACKLOG = 20;
const isCampaign = process.env["QUEUE_TASKS"] !== undefined;

const some = Math.ceil(KILLS / 5);
const COUNTS: Record<FaultName, number> = {
  "SIGKILL sidecar": KILLS,
  "SIGKILL runtime": KILLS,
  "SIGKILL nats-server": KILLS,
  "partition from NATS": some,
  "partition from runtime": some,
  "connections reset": some,
  "sidecar stopped": some,
  "slow network": some,
};

function tell(line: string): void {
  if (isCampaign) process.stdout.write(`${line}\n`);
}

/** Most work for a while; of a hundred two fail and two are poison, and now and then one cannot be read. */
async function publish({ observer }: Rig, index: number, random: () => number): Promise<void> {
  const task = `task-${index}`;
  const kind = index % 100;
  const work = Math.round(20 + random() * 180);
  const orders: Orders = kind === 7 || kind === 57 ? { work, fail: "It was told to." } : { work };
  if (kind === 33) await observer.publish(task, { refuse: 500 }, true);
  else if (kind === 83) await observer.publish(task, { raw: "[]" }, true);
  else if (kind === 77 && index % 400 === 77) await observer.publishNonsense(task);
  else await observer.publish(task, orders);
}

/** Hands tasks in as the faults go on, no faster than they are done, so that there is always one that runs for a fault to hit. */
async function storm(rig: Rig, random: () => number): Promise<void> {
  const faults = shuffled(COUNTS, random);
  let published = 0;
  for (const [index, name] of faults.entries()) {
    const share = Math.ceil((TASKS * (index + 2)) / faults.length);
    while (published < Math.min(TASKS, share)) await publish(rig, published++, random);
    await caughtUp(rig, published - BACKLOG);
    await lasting(random() * 500);
    await FAULTS[name](rig, random);
    if (index % Math.ceil(faults.length / 20) === 0) {
      const { results, dead } = await rig.observer.counts();
      const figures = `${published} tasks, ${results} results, ${dead} dead letters`;
      tell(`${index + 1}/${faults.length} faults, ${figures}`);
    }
  }
  await rig.nats.kill();
  await lasting(OUTAGE * 1_000);
  await rig.nats.start();
}

/** Resolves when there are so many results, or it takes too long: faults go on also where nothing else does. */
async function caughtUp({ observer }: Rig, results: number): Promise<void> {
  const until = performance.now() + 10_000;
  while ((await observer.counts()).results < results && performance.now() < until)
    await lasting(50);
}

function table(facts: Verdict & Unfinished, seconds: number, drain: number): string {
  const { problems, waiting, running, ...counts } = facts;
  const rows = Object.entries({
    seed: SEED,
    ...COUNTS,
    "NATS away, s": OUTAGE,
    ...counts,
    problems: problems.length,
    "waiting and running at the end, as nats-server says": `${waiting} and ${running}`,
    "time, s": seconds.toFixed(0),
    "until all was done behind the last fault, s": drain.toFixed(1),
  });
  return rows.map(([name, value]) => `| ${name} | ${value} |`).join("\n");
}

it(
  `${TASKS} tasks and ${KILLS} kills of each kind at random moments, partitions, stalls and an outage: 0 lost, 0 twice, poison in the dead letters (QUEUE_SEED=${SEED})`,
  { timeout: PATIENCE * (60_000 + KILLS * 60_000 + OUTAGE * 1_000) },
  async (context) => {
    requireProgram("nats-server", context);
    const { onTestFailed, onTestFinished } = context;
    tell(`QUEUE_SEED=${SEED}`);
    const random = randomOf(SEED);
    const rig = await makeRig({
      sidecars: 2,
      options: { ackWait: "1s", maxDeliver: 12, backoff: { initial: "50ms", max: "300ms" } },
    });
    onTestFailed(() => void process.stderr.write(`${rig.said()}\n`));
    onTestFinished(() => rig.end());
    await rig.begin();
    const from = performance.now();
    await storm(rig, random);
    const calm = performance.now();
    await rig.observer.settled(60_000);
    const done = performance.now();
    const verdict = await rig.observer.verdict();
    const left = await rig.observer.unfinished();
    tell(table({ ...verdict, ...left }, (done - from) / 1_000, (done - calm) / 1_000));
    expect(verdict).toMatchObject({ problems: [], tasks: TASKS, lost: 0, duplicates: 0 });
    expect(rig.sidecars.every(({ isAlive }) => isAlive)).toBe(true);
  },
);
