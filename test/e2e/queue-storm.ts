import type { Rig } from "./queue-rig.ts";

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Resolves after so many milliseconds: how long a fault lasts, never a wait for something to happen. */
export const lasting = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Does one thing to a queue, and resolves when the fault is over; what it hit may still recover. */
type Fault = (rig: Rig, random: () => number) => Promise<void>;

const sidecarOf: (rig: Rig, random: () => number) => Rig["sidecars"][number] = (
  { sidecars },
  random,
) => sidecars[Math.floor(random() * sidecars.length)]!;

/** Half of the time the network is slow when it strikes: what lies between a result and its ack is too short to be hit otherwise. */
async function slowly({ toNats }: Rig, random: () => number): Promise<void> {
  if (random() < 0.5) return;
  toNats.delay(50 + random() * 100);
  await lasting(random() * 600);
}

/** What can happen to a queue. Silences last longer than AckWait about as often as not. */
export const FAULTS = {
  "SIGKILL sidecar": async (rig, random) => {
    const sidecar = sidecarOf(rig, random);
    await slowly(rig, random);
    await sidecar.kill();
    rig.toNats.heal();
    sidecar.start();
  },
  "SIGKILL runtime": async (rig, random) => {
    await rig.runtime.kill();
    await lasting(random() * 300);
    await rig.runtime.begin();
  },
  "SIGKILL nats-server": async (rig, random) => {
    await slowly(rig, random);
    await rig.nats.kill();
    rig.toNats.heal();
    await lasting(random() * 300);
    await rig.nats.start();
  },
  "partition from NATS": async (rig, random) => {
    rig.toNats.partition();
    await lasting(random() * 2_500);
    rig.toNats.heal();
  },
  "partition from runtime": async (rig, random) => {
    rig.toRuntime.partition();
    await lasting(random() * 1_500);
    rig.toRuntime.heal();
  },
  "connections reset": async (rig) => {
    rig.toNats.reset();
    rig.toRuntime.reset();
    await Promise.resolve();
  },
  "sidecar stopped": async (rig, random) => {
    const sidecar = sidecarOf(rig, random);
    sidecar.signal("SIGSTOP");
    await lasting(random() * 2_000);
    sidecar.signal("SIGCONT");
  },
  "slow network": async (rig, random) => {
    rig.toNats.delay(random() * 100);
    rig.toRuntime.delay(random() * 100);
    await lasting(500);
    rig.toNats.heal();
    rig.toRuntime.heal();
  },
} satisfies Record<string, Fault>;

export type FaultName = keyof typeof FAULTS;

/** So many faults of each kind, in an order that the random numbers choose. */
export function shuffled(
  counts: Readonly<Record<FaultName, number>>,
  random: () => number,
): FaultName[] {
  const all = (Object.keys(counts) as FaultName[]).flatMap((name) =>
    Array.from({ length: counts[name] }, () => name),
  );
  return all
    .map((name) => ({ name, place: random() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ name }) => name);
}
