import type { JetStreamClient } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { forbiddenOf } from "propylon/plugins/nats";
import type { Settings } from "../settings.ts";

/** No stream has this name: what expects to be stored there is refused, and nothing is stored. */
const NOWHERE = { expect: { streamName: "~" } };
/** No id of a task is this token. */
const NOBODY = "~";
const PROBE_MS = 2_000;

/**
 * Finds out whether this user may do what a task needs, before one is run whose result could not be stored.
 * @throws {GatewayError} `forbidden` naming the subject
 */
export async function probe(
  connection: NatsConnection,
  client: JetStreamClient,
  { name, streams, subjects }: Settings,
): Promise<void> {
  const options = { ...NOWHERE, timeout: PROBE_MS, retries: 1 };
  const tried = await Promise.allSettled([
    client.publish(`${subjects.results}.${NOBODY}`, "", options),
    client.publish(`${subjects.dead}.${name}`, "", options),
    // No JSON: refused, and no task is taken.
    connection.request(`$JS.API.CONSUMER.MSG.NEXT.${streams.tasks}.${name}`, "{", {
      timeout: PROBE_MS,
    }),
  ]);
  const reasons = tried.map((each) => (each.status === "rejected" ? each.reason : undefined));
  const forbidden = reasons.map((reason) => reason && forbiddenOf(reason)).find(Boolean);
  if (forbidden) throw forbidden;
}
