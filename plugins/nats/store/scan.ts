import { FIRST_PROBLEM } from "propylon/kit";
import type { Msg } from "@nats-io/transport-node";
import { z } from "zod";
import { factsOf, readHeaders } from "../link/facts.ts";
import type { Fields, StoreRequest } from "../link/request.ts";

/** Messages that are asked for at a time. */
const BATCH = 500;
/** A consumer that nobody asks is removed by the server, in nanoseconds. */
const IDLE_NS = 30_000_000_000;

/** A message of a stream, without its body. */
export interface Seen {
  readonly subject: string;
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly fields: Fields;
}

const consumerSchema = z.object({ name: z.string(), num_pending: z.int().default(0) });

/**
 * All messages of a stream under some subjects, oldest first, without their bodies.
 *
 * @param request for each of its steps
 */
export async function* scan(
  request: () => StoreRequest,
  stream: string,
  filter: string,
): AsyncGenerator<Seen, void> {
  const config = {
    deliver_policy: "all",
    ack_policy: "none",
    replay_policy: "instant",
    filter_subject: filter,
    headers_only: true,
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: IDLE_NS,
  };
  const made = await request().ask(`CONSUMER.CREATE.${stream}`, { stream_name: stream, config });
  const { name, num_pending } = consumerSchema.parse(made, FIRST_PROBLEM);
  try {
    for (let left = num_pending; left > 0;) {
      const count = Math.min(BATCH, left);
      const replies = await request().pull(`CONSUMER.MSG.NEXT.${stream}.${name}`, count);
      const messages = replies.map(seenOf);
      yield* messages;
      left = messages.length < count ? 0 : (messages.at(-1)?.pending ?? 0);
    }
  } finally {
    await remove(request, stream, name);
  }
}

/** Without it the server does so a while later. */
async function remove(request: () => StoreRequest, stream: string, name: string): Promise<void> {
  try {
    await request().ask(`CONSUMER.DELETE.${stream}.${name}`, {});
  } catch {
    // The reader was told what went wrong, or has all it wants.
  }
}

/** A message as a consumer sends it: who it is stands in its reply subject. */
function seenOf(message: Msg): Seen & { readonly pending: number } {
  const { sequence, storedAt, pending } = factsOf(message.reply ?? "");
  const fields = readHeaders(() => message.headers);
  return { subject: message.subject, seq: sequence, at: storedAt, fields, pending };
}
