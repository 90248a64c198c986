import { randomUUID } from "node:crypto";
import { GatewayError, toGatewayError } from "propylon";
import { pause, writeJson } from "propylon/kit";
import type { Message, SendMessageRequest, StreamEvent } from "propylon/contract";
import { harmless, OWNER, sizeOf } from "./message/headers.ts";
import { Limit } from "./message/limit.ts";
import { scopedId, writeOwner, type TaskName } from "./message/owner.ts";
import type { OwnerOptions, SubmitOptions, TaskQueueService, TaskResult } from "./service.ts";
import type { Settings } from "./settings.ts";
import { isId, keyOf } from "./message/task.ts";
import { SpanKind, Step } from "./message/trace.ts";
import type { Headers, Transport } from "./message/transport.ts";

/** Between two looks at the ledger while somebody waits, should the news of a result be lost, in milliseconds. */
const LOOK_MS = 2_000;

/** The queue as those see it who hand tasks in. */
export class Queue implements TaskQueueService {
  readonly #transport: Transport;
  readonly #settings: Settings;

  constructor(transport: Transport, settings: Settings) {
    this.#transport = transport;
    this.#settings = settings;
  }

  async submit(
    input: Message | SendMessageRequest,
    { agent = this.#settings.name, headers = {}, owner }: SubmitOptions = {},
  ): Promise<{ readonly id: string }> {
    const { id, messageId, request } = named(input);
    const step = Step.begin(`send ${agent}`, SpanKind.PRODUCER, headers, {
      "messaging.system": this.#transport.status.kind,
      "messaging.operation.type": "send",
      "a2a.task.id": id,
    });
    const data = Buffer.from(writeJson(request));
    const full = {
      ...harmless(headers),
      ...step.headers,
      ...(owner !== undefined && { [OWNER]: writeOwner(owner) }),
    };
    try {
      this.#checkSize(data.length, full);
      const key = keyOf("task", { id, owner }, messageId);
      await this.#transport.submit(agent, { data, key, headers: full });
      return { id };
    } catch (error) {
      throw unavailable(error);
    } finally {
      step.end();
    }
  }

  result(
    id: string,
    { owner, ...wait }: Parameters<TaskQueueService["result"]>[1] = {},
  ): Promise<TaskResult | undefined> {
    return this.first([{ id, owner }], wait);
  }

  /** The result of the first of some tasks that has one. */
  async first(
    names: readonly TaskName[],
    { wait = 0, signal }: { readonly wait?: number; readonly signal?: AbortSignal },
  ): Promise<TaskResult | undefined> {
    const limit = new Limit(signal, wait);
    let round = new AbortController();
    const wake = (): void => round.abort();
    limit.signal.addEventListener("abort", wake);
    const stops = names.map((name) =>
      this.#transport.watch(scopedId(name), (event) => void (event ?? wake())),
    );
    try {
      for (;;) {
        round = new AbortController();
        const found = await this.#find(names);
        if (found || wait === 0 || limit.signal.aborted) return found;
        await pause(LOOK_MS, round.signal);
      }
    } finally {
      limit.clear();
      for (const stop of stops) stop();
    }
  }

  watch(
    id: string,
    listener: (event: StreamEvent) => void,
    { owner }: OwnerOptions = {},
  ): () => void {
    return this.#transport.watch(scopedId({ id, owner }), (event) => event && listener(event));
  }

  async #find(names: readonly TaskName[]): Promise<TaskResult | undefined> {
    try {
      for (const name of names) {
        const entry = await this.#transport.find(scopedId(name));
        if (entry) return { task: { ...entry.task, id: name.id }, owner: name.owner };
      }
      return undefined;
    } catch (error) {
      throw unavailable(error);
    }
  }

  #checkSize(length: number, headers: Headers): void {
    const room = this.#transport.limit - sizeOf(headers);
    if (length <= room) return;
    throw new GatewayError("too_large", `The task has ${length} bytes; the queue takes ${room}.`, {
      hint: "Send a reference to large inputs, or raise max_payload of the NATS server.",
      data: { size: length, limit: room },
    });
  }
}

/** A request whose task has an id. */
function named(input: Message | SendMessageRequest): {
  readonly id: string;
  readonly messageId: string | undefined;
  readonly request: SendMessageRequest;
} {
  const request = "message" in input ? (input as SendMessageRequest) : { message: input };
  const { taskId = "", messageId = "" } = request.message;
  if (!isId(taskId) || !isId(messageId))
    throw new GatewayError("invalid", "An id of the task holds half a character.", {
      hint: "Cut texts between characters, not between UTF-16 units.",
    });
  const id = taskId || messageId || randomUUID();
  const message = taskId || messageId ? request.message : { ...request.message, taskId: id };
  return { id, messageId: messageId || undefined, request: { ...request, message } };
}

/** What the client throws has words of its own. */
function unavailable(error: unknown): GatewayError {
  const known = toGatewayError(error);
  if (known.code !== "internal") return known;
  return new GatewayError("upstream_error", "The queue did not answer.", {
    hint: "Try again; the same id twice is one task.",
    cause: error,
  });
}
