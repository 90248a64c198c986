import { isGatewayError, type GatewayError, type Json, type Principal } from "propylon";
import type { Part, Task } from "propylon/contract";
import type { RunningTask, RuntimeService } from "../service.ts";
import { jsonReply } from "../reply.ts";
import { failedTask, toAnswer } from "./answer.ts";
import type { Attendance } from "./attendance.ts";
import type { Envelope } from "./request.ts";
import { streamOnce, streamTask } from "./stream.ts";

/** A message with everything about its sender. */
export interface Delivery extends Envelope {
  readonly principal: Principal;
  /** Trace context, for `Call.meta`. */
  readonly meta: Json | undefined;
  /** Aborts when the client goes away. */
  readonly gone: AbortSignal;
  /** Whether the client wants events. */
  readonly isStream: boolean;
}

/** Failures of a message that are outcomes of its task: contract v1 has a status code for none of them. */
const OUTCOMES: ReadonlySet<GatewayError["code"]> = new Set(["not_found", "invalid"]);

/** Takes messages of contract v1 and answers with their tasks. */
export class Reception {
  readonly #runtime: RuntimeService;
  readonly #attendance: Attendance;

  constructor(runtime: RuntimeService, attendance: Attendance) {
    this.#runtime = runtime;
    this.#attendance = attendance;
  }

  /**
   * The task at its end, or as events.
   * @throws {GatewayError} what {@link RuntimeService.send} throws and is no outcome: `exists`, `draining`, `rate_limited`
   */
  async answer(delivery: Delivery): Promise<Response> {
    if (!delivery.message.parts.some(hasContent))
      return reply(
        failedTask(delivery, "The message is empty: none of its parts has content."),
        delivery,
      );
    const { id, principal, gone, message, meta, metadata } = delivery;
    const visit = this.#attendance.enter(JSON.stringify([principal.ref, id]), gone);
    let running: RunningTask;
    try {
      const { signal } = visit;
      running = await this.#runtime.send(message, { id, principal, meta, metadata, signal });
    } catch (error) {
      visit.end();
      if (!isGatewayError(error) || !OUTCOMES.has(error.code)) throw error;
      return reply(failedTask(delivery, error.message), delivery);
    }
    if (delivery.isStream) return streamTask(running, visit);
    const task = await running.settled;
    visit.end();
    return reply(task, delivery);
  }
}

function reply(task: Task, { isStream }: Delivery): Response {
  return isStream ? streamOnce({ task }) : jsonReply(toAnswer(task));
}

/** Whether there is anything in a part: an empty text is nothing to work on. */
function hasContent({ text, data, raw, url }: Part): boolean {
  return Boolean(text?.trim()) || data !== undefined || Boolean(raw) || Boolean(url);
}
