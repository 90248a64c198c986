import type { ConsumerConfig, JetStreamManager, StreamConfig } from "@nats-io/jetstream";
import { GatewayError } from "propylon";
import type { Settings } from "../settings.ts";

/** JetStream's code for what is not there. */
const NOT_FOUND = 404;

/** Settings that decide what is guaranteed, with what they must be; what is not named is whatever it is. */
type Demands = Readonly<Record<string, unknown>>;

interface StreamPlan {
  readonly create: Partial<StreamConfig> & { readonly name: string; readonly subjects: string[] };
  readonly demands: Demands;
}

/** Nanoseconds, in which JetStream counts. */
const nanos = (ms: number): number => ms * 1_000_000;

function plansOf({ streams, subjects, keep, nats }: Settings): readonly StreamPlan[] {
  const shared = { storage: "file", num_replicas: nats?.replicas ?? 1 } as const;
  const ledger = {
    max_msgs_per_subject: 1,
    discard: "new",
    discard_new_per_subject: true,
    max_age: nanos(keep.results),
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
      demands: { retention: ["workqueue", "limits"] },
    },
    {
      create: {
        ...shared,
        ...ledger,
        name: streams.results,
        subjects: [`${subjects.results}.*`],
        retention: "limits",
      },
      demands: { ...ledger, retention: "limits" },
    },
    {
      create: {
        ...shared,
        name: streams.dead,
        subjects: [`${subjects.dead}.*`],
        retention: "limits",
        max_age: nanos(keep.dead),
      },
      demands: { retention: "limits", max_age: nanos(keep.dead) },
    },
  ];
}

/**
 * Creates the streams and the agent's consumer where they are missing, and checks those that are there.
 *
 * @throws {GatewayError} `invalid` naming the setting that is not as it must be, or what is missing; anything else when the server
 * cannot be asked
 */
export async function provision(manager: JetStreamManager, settings: Settings): Promise<void> {
  const mayCreate = settings.nats?.provision === "create";
  for (const { create, demands } of plansOf(settings)) {
    const add = (): Promise<{ config: StreamConfig }> => manager.streams.add(create);
    const { config } = await there(
      `stream ${create.name}`,
      () => manager.streams.info(create.name),
      mayCreate ? add : undefined,
    );
    check(`stream ${create.name}`, config, demands);
    checkSubjects(create.name, config.subjects, create.subjects[0]!);
  }
  if (settings.work) await provisionConsumer(manager, settings, mayCreate);
}

async function provisionConsumer(
  manager: JetStreamManager,
  { name, streams, subjects, ackWait }: Settings,
  mayCreate: boolean,
): Promise<void> {
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
  };
  const { config } = await there(
    `consumer ${name}`,
    () => manager.consumers.info(streams.tasks, name),
    mayCreate ? () => manager.consumers.add(streams.tasks, create) : undefined,
  );
  check(`consumer ${name} of stream ${streams.tasks}`, config, demands);
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
    if (add) return add();
    throw new GatewayError("invalid", `The ${what} does not exist.`, {
      hint: "Create it, or let the sidecar do so: nats.provision: create.",
    });
  }
}

function check(what: string, config: object, demands: Demands): void {
  for (const [setting, wanted] of Object.entries(demands)) {
    const found = (config as Record<string, unknown>)[setting];
    if ([wanted].flat().includes(found)) continue;
    throw new GatewayError(
      "invalid",
      `The ${what} has ${setting} ${JSON.stringify(found ?? null)}; it must be ${[wanted].flat().map(String).join(" or ")}.`,
      {
        hint: "Change it there, or the option here; what exists is never changed by the sidecar.",
        data: { setting },
      },
    );
  }
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
