import { randomUUID } from "node:crypto";
import {
  type Answer,
  type Call,
  type GatewayInfo,
  GatewayError,
  type Json,
  type Peer,
  type Principal,
  type Progress,
} from "propylon";
import { createPrincipal, addSignal, Cancellation, setTimer } from "propylon/kit";
import { missingCapability, notOffered, OpenQuestions, readRef } from "propylon/internal";
import type { OwnTask } from "./own-task.ts";
import type { TaskOrigin } from "./service.ts";

const OVER = new GatewayError("cancelled", "The task is over.");

/** Waits for a task that its server works on, in place of the call that began it: that ended with the process before. */
export class RestoredCall implements Peer {
  readonly key = randomUUID();
  readonly era = "modern";
  readonly capabilities: Json;
  readonly #task: OwnTask;
  readonly #origin: TaskOrigin;
  readonly #cancellation = new Cancellation();
  // Keys of the process before are used up.
  readonly #questions = new OpenQuestions(() => this.#tell(), `input-${randomUUID().slice(0, 8)}`);

  constructor(task: OwnTask, origin: TaskOrigin) {
    this.#task = task;
    this.#origin = origin;
    this.capabilities = origin.capabilities;
  }

  /** Follows it to its end. Its time starts over. Never rejects. */
  async run({ servers, timeouts }: Pick<GatewayInfo, "servers" | "timeouts">): Promise<void> {
    this.#task.adopt({
      cancel: (reason) => this.#cancellation.abort(reason),
      answer: (responses) => {
        this.#questions.settle(responses);
        this.#tell();
      },
    });
    const { server, name } = this.#task;
    const limits = timeouts({ method: "tools/call", server, name });
    const limit = limits.tool ?? limits.server ?? limits.default;
    const timer = setTimer(() => this.#cancellation.abort(late(this.#task, limit)), limit);
    const outcome = await this.#outcome(servers);
    clearTimeout(timer);
    this.#questions.reject(OVER);
    await this.#task.finish(outcome);
  }

  async ask(method: string, params: Json | undefined, signal?: AbortSignal): Promise<Json> {
    const missing = missingCapability(method, params, this.capabilities);
    if (missing) throw notOffered(method, missing);
    const answer = this.#questions.ask(method, params, signal);
    this.#tell();
    return answer;
  }

  /** Nobody listens to more than the task tells. */
  tell(): void {}

  #tell(): void {
    this.#task.ask(this.#questions.open);
  }

  async #outcome(servers: GatewayInfo["servers"]): Promise<Answer | Error> {
    const server = servers.get(this.#task.server);
    if (!server?.resume) return gone(this.#task);
    try {
      return await server.resume(this.#toCall(), this.#origin.id);
    } catch (error) {
      return error as Error;
    }
  }

  #toCall(): Call {
    const { id, server, name, owner } = this.#task;
    return addSignal({
      id,
      method: "tools/call" as const,
      source: "mcp" as const,
      endpoint: "",
      server,
      name,
      tool: undefined,
      args: undefined,
      params: undefined,
      meta: undefined,
      principal: principalOf(owner.ref),
      timeout: undefined,
      cancellation: this.#cancellation,
      progress: (report: Progress) => this.#task.report(report),
      peer: this,
    });
  }
}

/** Its owner, without a right: what was allowed when the task began may be so no more. */
function principalOf(ref: string): Principal {
  return createPrincipal({ ...readRef(ref), roles: new Set() });
}

function late({ server, name }: OwnTask, ms: number): GatewayError {
  return new GatewayError(
    "timeout",
    `The task of "${name}" of "${server}" did not end within ${ms} ms after the gateway was restarted.`,
    { data: { timeout: ms } },
  );
}

function gone({ server }: OwnTask): GatewayError {
  return new GatewayError(
    "unavailable",
    `Server "${server}", which works on it, is not there any more.`,
    {
      hint: "Whether the tool did its work is not known: look before you make the call again.",
    },
  );
}
