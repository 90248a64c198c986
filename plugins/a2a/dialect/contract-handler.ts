import { isGatewayError, type GatewayError, type Json, type Principal } from "propylon";
import type { Abortable } from "propylon/internal";
import type { Part, Task } from "propylon/contract";
import type { RunningTask, RuntimeService } from "../service.ts";
import { jsonReply, type PostRequest, type PostReply } from "../post.ts";
import { failedContractTask, toContractTask } from "./answer.ts";
import type { WaitingClients } from "./waiting-clients.ts";
import type { Envelope } from "./request.ts";
import { streamOnce, streamTask } from "./stream.ts";

/** A message with everything about its sender. */
export interface MessageRequest extends Envelope {
  readonly principal: Principal;
  /** Trace context, for `Call.meta`. */
  readonly meta: Json | undefined;
  /** Aborts when the client goes away. */
  readonly gone: Abortable;
  /** Whether it answers a task that waits. */
  readonly continues: boolean;
  /** Whether the client wants events. */
  readonly isStream: boolean;
  readonly onRevoked: PostRequest["onRevoked"];
}

/** Failures of a message that are outcomes of its task: contract v1 has a status code for none of them. */
const OUTCOMES: ReadonlySet<GatewayError["code"]> = new Set(["not_found", "invalid"]);

/** Takes messages of contract v1 and answers with their tasks. */
export class ContractHandler {
  readonly #runtime: RuntimeService;
  readonly #waiting: WaitingClients;

  constructor(runtime: RuntimeService, waiting: WaitingClients) {
    this.#runtime = runtime;
    this.#waiting = waiting;
  }

  /**
   * The task at its end, or as events.
   * @throws {GatewayError} what {@link RuntimeService.send} throws and is not an outcome: `exists`, `draining`, `rate_limited`
   */
  async answer(request: MessageRequest): Promise<PostReply> {
    if (!request.message.parts.some(hasContent))
      return reply(
        failedContractTask(request, "The message is empty: none of its parts has content."),
        request,
      );
    const { id, principal, gone, message, meta, metadata, continues } = request;
    const client = this.#waiting.enter(JSON.stringify([principal.ref, id]), gone);
    let running: RunningTask;
    try {
      const { signal } = client;
      const options = { id, principal, meta, metadata, signal, continues };
      running = await this.#runtime.send(message, options);
    } catch (error) {
      client.end();
      if (!isGatewayError(error) || !OUTCOMES.has(error.code)) throw error;
      return reply(failedContractTask(request, error.message), request);
    }
    if (request.isStream) return streamTask(running, client, request.onRevoked);
    const task = await running.settled;
    client.end();
    return reply(task, request);
  }
}

function reply(task: Task, { isStream }: MessageRequest): PostReply {
  return isStream ? streamOnce({ task }) : jsonReply(toContractTask(task));
}

/** Whether there is anything in a part: an empty text is nothing to work on. */
function hasContent({ text, data, raw, url }: Part): boolean {
  return Boolean(text?.trim()) || data !== undefined || Boolean(raw) || Boolean(url);
}
