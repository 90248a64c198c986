import { Answer, type Call, type GatewayError, isGatewayError, type Json } from "propylon";
import { backoffDelay, isObject, pause } from "propylon/kit";
import { abortError, cleanMeta, isAskable } from "propylon/internal";
import { Faults } from "../wire/faults.ts";
import { unlessAborted } from "../wire/unless-aborted.ts";

/** Longest id of a task, in characters: it is sent with every look, in a header too. */
const MAX_ID = 1_024;
/** Milliseconds between looks: what a server that says nothing gets, and what it may ask for. */
const POLL = { usual: 1_000, min: 250, max: 60_000 };
/** Looks in a row that may fail: a server that restarts is back before that. */
const MAX_FAILURES = 8;
const BACKOFF = { initial: 500, max: 30_000 };
/** Questions of one task over its life; more is not a conversation. */
const MAX_QUESTIONS = 1_000;
/** JSON-RPC code for a task that the server does not know. */
const UNKNOWN = -32602;

/** Key of `_meta` that names a task (2025-11-25). */
const RELATED = "io.modelcontextprotocol/related-task";

/** The way to the server of a task. */
export interface TaskLink {
  /** Whether it was last asked in the form of 2025-11-25. */
  isLegacy: boolean;
  /** Sends a request about the task. */
  ask(method: string, params: Json): Promise<Answer>;
  /** Waits for the answer itself (2025-11-25). */
  result(): Promise<Answer>;
}

/** The id of a task that a server began, if it did. @throws {GatewayError} `upstream_error` when it is not an id */
export function idOfTask({ server }: Call, answer: Answer): string | undefined {
  return answer.isTask ? checkId(server, answer.result) : undefined;
}

/** The same for servers of 2025-11-25. */
export function idOfLegacyTask({ server }: Call, answer: Answer): string | undefined {
  const task = answer.result?.["task"];
  return isObject(task) ? checkId(server, task) : undefined;
}

function checkId(server: string, task: Json | undefined): string {
  const id = task?.["taskId"];
  if (isTaskId(id)) return id;
  throw new Faults(server).protocol("began a task without an id");
}

function isTaskId(id: unknown): id is string {
  return typeof id === "string" && id !== "" && id.length <= MAX_ID;
}

/**
 * A task of a server (SEP-2663), followed for a call to its end: looks at it, asks the call's client what it asks, and cancels it
 * when the call ends before it.
 */
export class ServerTask {
  readonly #call: Call;
  readonly #id: string;
  readonly #link: TaskLink;
  readonly #faults: Faults;
  /** Ends questions and looks when the call is over. */
  readonly #over = new AbortController();
  readonly #asked = new Set<string>();
  #interval = POLL.usual;
  #failures = 0;
  #reports = 0;
  #message: unknown;
  #broken: unknown;
  #hasEnded = false;
  /** Whether `tasks/result` of 2025-11-25 is to be asked for: the task has ended, or has questions. */
  #isResultDue = false;

  constructor(call: Call, id: string, link: TaskLink) {
    this.#call = call;
    this.#id = id;
    this.#link = link;
    this.#faults = new Faults(call.server);
  }

  /**
   * What the call would have been answered.
   *
   * @param seed what the server said of the task so far
   * @throws {GatewayError} why the call was aborted; `upstream_error`
   */
  async follow(seed: Json | undefined): Promise<Answer> {
    const { signal } = this.#call;
    const abort = (): void => this.#over.abort(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      if (signal.aborted) throw abortError(signal);
      this.#note(seed);
      return await this.#watch();
    } catch (error) {
      // One that rests is asked for again after the restart.
      const rests = isGatewayError(error) && error.code === "draining";
      if (!rests && !this.#hasEnded) this.#cancel();
      throw error;
    } finally {
      signal.removeEventListener("abort", abort);
      this.#over.abort();
    }
  }

  async #watch(): Promise<Answer> {
    const over = this.#over.signal;
    for (;;) {
      await pause(this.#interval, over);
      if (this.#broken !== undefined) throw this.#broken;
      if (over.aborted) throw abortError(over);
      const answer = await unlessAborted(this.#look(), over);
      const end = answer && this.#read(answer);
      if (end) return end;
      if (!answer || !this.#isResultDue) continue;
      const result = await unlessAborted(this.#fetch(), over);
      if (result) return result;
    }
  }

  /** What the server says of it now; `undefined` when it could not be asked. */
  async #look(): Promise<Answer | undefined> {
    let failure: unknown;
    try {
      const answer = await this.#link.ask("tasks/get", { taskId: this.#id });
      if (!answer.isRpcError) {
        this.#failures = 0;
        return answer;
      }
      failure = this.#faults.protocol(
        answer.error!.code === UNKNOWN
          ? "does not know its task any more"
          : `refused to tell of its task: ${answer.error!.message.slice(0, 200)}`,
      );
      if (answer.error!.code === UNKNOWN) this.#failures = MAX_FAILURES;
    } catch (error) {
      failure = error;
      if (isClosed(error)) this.#failures = MAX_FAILURES;
    }
    if (++this.#failures > MAX_FAILURES) throw failure;
    this.#interval = backoffDelay(this.#failures, BACKOFF, 0, Math.random());
    return undefined;
  }

  /** What the call is answered in 2025-11-25; `undefined` when the server could not be asked. */
  async #fetch(): Promise<Answer | undefined> {
    try {
      return withoutRelated(await this.#link.result());
    } catch (error) {
      if (++this.#failures > MAX_FAILURES || isClosed(error)) throw error;
      return undefined;
    }
  }

  /** Takes in what the server says; the answer when that is the end. */
  #read(answer: Answer): Answer | undefined {
    const task = answer.result!;
    if (task["taskId"] !== this.#id) throw this.#faults.protocol("answered for another task");
    if (this.#link.isLegacy) return this.#note(task);
    const { status, result, error, inputRequests } = task;
    this.#hasEnded = status === "completed" || status === "failed" || status === "cancelled";
    switch (status) {
      case "completed":
        if (isObject(result)) return this.#toAnswer(result);
        throw this.#faults.protocol("completed a task without a result");
      case "failed":
        return Answer.error(this.#toError(error));
      case "cancelled":
        throw this.#faults.protocol("cancelled its task");
      case "input_required":
        this.#question(inputRequests);
        break;
      case "working":
        break;
      default:
        throw this.#faults.protocol("told of a task in a state that does not exist");
    }
    return this.#note(task);
  }

  #note(task: Json | undefined): undefined {
    const { status, statusMessage, pollIntervalMs, pollInterval } = task ?? {};
    this.#isResultDue = this.#link.isLegacy && status !== "working";
    this.#interval = toInterval(pollIntervalMs ?? pollInterval);
    if (typeof statusMessage !== "string" || statusMessage === this.#message) return;
    this.#message = statusMessage;
    this.#call.progress?.({ progress: ++this.#reports, message: statusMessage });
  }

  #toAnswer(given: Json): Answer {
    const result = cleanMeta(given);
    if (result["resultType"] === "task" || result["resultType"] === "input_required")
      throw this.#faults.protocol("completed a task with another task or a question");
    return Answer.result(result);
  }

  #toError(error: unknown): { code: number; message: string; data?: unknown } {
    if (!isObject(error) || !Number.isSafeInteger(error["code"]))
      throw this.#faults.protocol("failed a task without an error");
    const { code, message, data } = error;
    return {
      code: code as number,
      message: typeof message === "string" ? message : "",
      ...(data !== undefined && { data }),
    };
  }

  /** Each key is asked once; what was asked before is still with the client, or answered. */
  #question(requests: unknown): void {
    if (!isObject(requests)) throw this.#notMcp();
    for (const [key, request] of Object.entries(requests)) {
      if (this.#asked.has(key)) continue;
      const { method, params } = isObject(request) ? request : {};
      if (typeof method !== "string" || !isAskable(method)) throw this.#notMcp();
      if (this.#asked.size >= MAX_QUESTIONS)
        throw this.#faults.protocol(`asked more than ${MAX_QUESTIONS} questions in one task`);
      this.#asked.add(key);
      void this.#answer(key, method, isObject(params) ? cleanMeta(params) : undefined);
    }
  }

  #notMcp(): GatewayError {
    return this.#faults.protocol("asked for input in a form that is not MCP");
  }

  async #answer(key: string, method: string, params: Json | undefined): Promise<void> {
    const over = this.#over.signal;
    try {
      const response = cleanMeta(await this.#call.peer.ask(method, params, over));
      if (over.aborted) return;
      const told = { taskId: this.#id, inputResponses: { [key]: response } };
      const answer = await this.#link.ask("tasks/update", told);
      if (answer.isRpcError) throw this.#faults.protocol("refused the answer to its question");
    } catch (error) {
      // Seen at the next look.
      this.#broken ??= error;
    }
  }

  /** Tells the server that nobody waits any more. */
  #cancel(): void {
    this.#link.ask("tasks/cancel", { taskId: this.#id }).catch(() => {});
  }
}

/** A server that left the gateway comes back as another one. */
function isClosed(error: unknown): error is GatewayError {
  return isGatewayError(error) && error.data?.["state"] === "closed";
}

function toInterval(wanted: unknown): number {
  if (typeof wanted !== "number" || !Number.isFinite(wanted)) return POLL.usual;
  return Math.min(Math.max(wanted, POLL.min), POLL.max);
}

/** The server's id of its task is nobody else's business. */
function withoutRelated(answer: Answer): Answer {
  const meta = answer.isRpcError ? undefined : answer.result?.["_meta"];
  if (!isObject(meta) || !(RELATED in meta)) return answer;
  const { [RELATED]: _, ...others } = meta;
  return Answer.result({ ...answer.result, _meta: others });
}
