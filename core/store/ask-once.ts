import { FIRST_PROBLEM } from "../kit/check-shape.ts";
import type { ZodType } from "zod";
import { GatewayError, isGatewayError } from "../kit/errors.ts";
import type { Store } from "./store.ts";
import { timeoutSignal } from "../kit/timers.ts";

/**
 * A question that has one answer.
 *
 * @example const question: OneQuestion<Figures> = { topic: "figures", body: {}, schema: figuresSchema, timeout: 2_000 };
 */
export interface OneQuestion<T> {
  readonly topic: string;
  readonly body: unknown;
  /** What the answer must be. */
  readonly schema: ZodType<T>;
  /** Milliseconds. */
  readonly timeout: number;
}

/**
 * Asks one replica of the store for its first answer.
 *
 * @param replica its id
 * @throws {GatewayError} `unavailable` when that replica is gone, gives no answer in time, or one of another form; what it threw
 *
 * @example const figures = await askOnce(store, id, { topic: "figures", body: {}, schema, timeout: 2_000 });
 */
export async function askOnce<T>(
  store: Pick<Store, "ask">,
  replica: string,
  { topic, body, schema, timeout }: OneQuestion<T>,
): Promise<T> {
  try {
    for await (const answer of store.ask(replica, topic, body, timeoutSignal(timeout)))
      return schema.parse(answer, FIRST_PROBLEM);
  } catch (error) {
    if (isGatewayError(error)) throw error;
  }
  throw new GatewayError("unavailable", "The replica that was asked did not answer.", {
    hint: "Make the request again.",
  });
}
