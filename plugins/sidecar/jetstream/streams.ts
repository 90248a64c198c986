import type { ConsumerConfig, JetStreamManager, StreamConfig } from "@nats-io/jetstream";
import {
  checkSettings,
  findOrAdd,
  nanos,
  provideStream,
  type Demands,
  type StreamPlan,
} from "propylon/plugins/nats";
import type { Settings } from "../settings.ts";

/** A consumer that others made may push, or leave the bodies or the older tasks out. */
const PLAIN: Demands = {
  deliver_subject: undefined,
  deliver_policy: "all",
  headers_only: [false, undefined],
};

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
  for (const plan of plansOf(settings)) {
    const config = await provideStream(manager, plan, mayCreate);
    if (config.name === settings.streams.tasks) checkLimits(config.name, config);
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
  const { config } = await findOrAdd(
    `consumer ${name}`,
    () => manager.consumers.info(streams.tasks, name),
    mayCreate ? add : undefined,
  );
  checkSettings(`consumer ${name} of stream ${streams.tasks}`, config, { ...demands, ...PLAIN });
  return isNew;
}

/** A full stream must refuse a task, and not drop an older one for it. */
function checkLimits(stream: string, config: StreamConfig): void {
  const limits = [config.max_msgs, config.max_bytes, config.max_msgs_per_subject];
  if (limits.some((limit) => limit > 0))
    checkSettings(`stream ${stream}`, config, { discard: "new" });
}
