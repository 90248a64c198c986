import type { ConsumerConfig, JetStreamManager, StreamConfig } from "@nats-io/jetstream";
import { GatewayError } from "propylon";
import type { Settings } from "../settings.ts";

/** JetStream's code for what is not there. */
const NOT_FOUND = 404;

/** Settings that decide what is guaranteed, with what they must be; what is not named is whatever it is. */
type Demands = Readonly<Record<string, unknown>>;

/** A consumer that others made may push, or leave the bodies or the older tasks out. */
const PLAIN: Demands = {
  deliver_subject: undefined,
  deliver_policy: "all",
  headers_only: [false, undefined],
};

interface StreamPlan {
  readonly create: Partial<StreamConfig> & { readonly name: string; readonly subjects: string[] };
  readonly demands: Demands;
}

/** Nanoseconds, in which JetStream counts. */
const nanos = (ms: number): number => ms * 1_000_000;

function plansOf({ streams, subjects, retention, nats }: Settings): readonly StreamPlan[] {
  const shared = { storage: "file", num_replicas: nats?.replicas ?? 1 } as const;
  const lasting = { storage: "file", no_ack: [false, undefined], sealed: [false, undefined] };
  const ledger = {
    max_msgs_per_subject: 1,
    discard: "new",
    discard_new_per_subject: true,
    max_age: nanos(retention.results),
  } as const;
  return [
    {
      // A task is there until it is acked, also when nobody listens yet.
      create: {
        ...shared,
        name: streams.tasks,
        subjects: [`${subjects.tasks}.>`],
        retention: "workqueue",
      },
      // Whatever drops a task before it is done: its age, a limit, or a server that forgets.
      demands: { ...lasting, retention: ["workqueue", "limits"], max_age: 0 },
    },
    {
      create: {
        ...shared,
        ...ledger,
        name: streams.results,
        subjects: [`${subjects.results}.*`],
        retention: "limits",
      },
      // A result that is gone on with is taken out.
      demands: { ...lasting, ...ledger, retention: "limits", deny_delete: [false, undefined] },
    },
    {
      create: {
        ...shared,
        name: streams.dead,
        subjects: [`${subjects.dead}.*`],
        retention: "limits",
        max_age: nanos(retention.dead),
      },
      demands: { ...lasting, retention: "limits", max_age: nanos(retention.dead) },
    },
  ];
}

/**
 * Creates the streams and the agent's consumer where they are missing, and checks those that are there.
 *
 * @returns whether the consumer had to be made: whatever was asked of one before it is forgotten
 * @throws {GatewayError} `invalid` naming the setting that is not as it must be, or what is missing; anything else when the server
 * cannot be asked
 */
export async function provision(manager: JetStreamManager, settings: Settings): Promise<boolean> {
  const mayCreate = settings.nats?.provision === "create";
  for (const { create, demands } of plansOf(settings)) {
    const add = (): Promise<{ config: StreamConfig }> => manager.streams.add(create);
    const { config } = await there(
      `stream ${create.name}`,
      () => manager.streams.info(create.name),
      mayCreate ? add : undefined,
    );
    check(`stream ${create.name}`, config, demands);
    if (create.name === settings.streams.tasks) checkLimits(create.name, config);
    checkSubjects(create.name, config.subjects, create.subjects[0]!);
  }
  return settings.work && provisionConsumer(manager, settings, mayCreate);
}

async function provisionConsumer(
  manager: JetStreamManager,
  { name, streams, subjects, ackWait }: Settings,
  mayCreate: boolean,
): Promise<boolean> {
  const demands = {
    filter_subject: `${subjects.tasks}.${name}`,
    ack_policy: "explicit",
    ack_wait: nanos(ackWait),
    // The last delivery can be lost with the process that had it, and behind `max_deliver` there would be no other: we count.
    max_deliver: -1,
  } as const;
  const create: Partial<ConsumerConfig> = {
    ...demands,
    durable_name: name,
    deliver_policy: "all",
    max_ack_pending: -1,
    // The server's 512 would refuse the lanes of a few busy workers.
    max_waiting: 10_000,
  };
  let isNew = false;
  const add = (): Promise<{ config: ConsumerConfig }> => {
    isNew = true;
    return manager.consumers.add(streams.tasks, create);
  };
  const { config } = await there(
    `consumer ${name}`,
    () => manager.consumers.info(streams.tasks, name),
    mayCreate ? add : undefined,
  );
  check(`consumer ${name} of stream ${streams.tasks}`, config, { ...demands, ...PLAIN });
  return isNew;
}

/** Looks first, because adding what is there with other settings would be an update. */
async function there<T>(
  what: string,
  look: () => Promise<T>,
  add: (() => Promise<T>) | undefined,
): Promise<T> {
  try {
    return await look();
  } catch (error) {
    if ((error as { status?: unknown }).status !== NOT_FOUND) throw error;
    if (!add)
      throw new GatewayError("invalid", `The ${what} does not exist.`, {
        hint: "Create it, or let the sidecar do so: nats.provision: create.",
      });
    // Sidecars that start together all find nothing; to the second, nats-server 2.9 at times says that its subjects overlap.
    return add().catch((refused: unknown) => look().catch(() => Promise.reject(refused)));
  }
}

function check(what: string, config: object, demands: Demands): void {
  for (const [setting, wanted] of Object.entries(demands)) {
    const found = (config as Record<string, unknown>)[setting];
    if ([wanted].flat().includes(found)) continue;
    throw new GatewayError(
      "invalid",
      `The ${what} has ${setting} ${JSON.stringify(found ?? null)}; it must be ${[wanted].flat().map(worded).join(" or ")}.`,
      {
        hint: "Change it there, or the option here; what exists is never changed by the sidecar.",
        data: { setting },
      },
    );
  }
}

function worded(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "not set" : JSON.stringify(value);
}

/** A full stream must refuse a task, and not drop an older one for it. */
function checkLimits(stream: string, config: StreamConfig): void {
  const limits = [config.max_msgs, config.max_bytes, config.max_msgs_per_subject];
  if (limits.some((limit) => limit > 0)) check(`stream ${stream}`, config, { discard: "new" });
}

function checkSubjects(stream: string, found: readonly string[], wanted: string): void {
  const prefix = wanted.replace(/\.[*>]$/, "");
  if (found.some((subject) => subject === wanted || subject === `${prefix}.>`)) return;
  throw new GatewayError(
    "invalid",
    `The stream ${stream} has subjects ${found.join(", ")}; ${wanted} must be one of them.`,
    { hint: "Add it there, or set subjects here.", data: { setting: "subjects" } },
  );
}
