import {
  toGatewayError,
  type Answer,
  type Call,
  type Middleware,
  type PluginContext,
} from "propylon";
import { endOf } from "propylon/kit";
import { keepArguments, type KeptArguments, type Looked } from "./arguments.ts";
import { toRecord } from "./entry.ts";
import { FLAGS, writeHead } from "./head.ts";
import type { HistoryOptions } from "./options.ts";
import { hideSecrets, keepResult, type KeptResult } from "./result.ts";
import type { Ring } from "./ring.ts";
import type { Secrets } from "./secrets.ts";

/** A call from its beginning until it is written down. Instants are those of `performance.now()`. */
class Running {
  readonly call: Call;
  readonly started = performance.now();
  /** When it left for its server. */
  sent: number | undefined = undefined;
  /** Progress reports that were passed on. */
  progress = 0;
  ended = 0;
  end: Answer | Error | undefined = undefined;

  constructor(call: Call) {
    this.call = call;
  }

  /** The call with its progress reports counted; only made where somebody asked for them. */
  counted(): Call {
    const { progress } = this.call;
    return {
      ...this.call,
      progress: (report) => {
        this.progress++;
        progress!(report);
      },
    };
  }
}

const MAX_MESSAGE = 500;
const NONE: readonly string[] = [];

/** What a {@link Recorder} is made of. */
export interface RecorderParts {
  /** Where records go. */
  readonly ring: Pick<Ring, "push">;
  readonly options: HistoryOptions;
  readonly secrets: Secrets;
  readonly log: PluginContext["log"];
  /** Id of this replica, where others share its store. */
  readonly replica: string | undefined;
}

/** Watches calls and writes them down once they are over, many at a time, so that no caller waits for it. */
export class Recorder {
  readonly #ring: Pick<Ring, "push">;
  readonly #options: HistoryOptions;
  readonly #secrets: Secrets;
  readonly #log: PluginContext["log"];
  readonly #replica: string | undefined;
  /** The call that passes through the stages at this moment: most leave for their server in one go. */
  #passing: Running | undefined;
  /** Calls that a stage holds back, by id. Few, since a `Map` that changes with every call costs more than the rest of this. */
  readonly #waiting = new Map<string, Running>();
  /** Ids of the repeated calls, by the arguments that repeat them. */
  readonly #replays = new WeakMap<object, string>();
  readonly #ended: Running[] = [];
  #due: NodeJS.Immediate | undefined;

  constructor({ ring, options, secrets, log, replica }: RecorderParts) {
    this.#ring = ring;
    this.#options = options;
    this.#secrets = secrets;
    this.#log = log;
    this.#replica = replica;
  }

  /** For the stage `observe`: sees every call, denials included. */
  readonly watch: Middleware = (call, next) => {
    if (call.method !== "tools/call") return next(call);
    const running = new Running(call);
    const outer = this.#passing;
    this.#passing = running;
    const answer = next(call.progress ? running.counted() : call);
    this.#passing = outer;
    if (running.sent === undefined) this.#waiting.set(call.id, running);
    answer.then(
      (end) => this.#end(running, end),
      (thrown: unknown) => this.#end(running, toGatewayError(thrown)),
    );
    return answer;
  };

  /** For the last stage: notes when a call leaves for its server. */
  readonly note: Middleware = (call, next) => {
    const running = this.#passing?.call.id === call.id ? this.#passing : this.#admit(call.id);
    if (running) running.sent = performance.now();
    return next(call);
  };

  /** Remembers that a call with these arguments, the very object, repeats a call. */
  repeats(args: object, id: string): void {
    this.#replays.set(args, id);
  }

  /** Writes down what has ended. */
  flush(): void {
    clearImmediate(this.#due);
    this.#due = undefined;
    const now = performance.now();
    const clock = Date.now() - now;
    for (const running of this.#ended) this.#try(running, clock);
    this.#ended.length = 0;
  }

  #admit(id: string): Running | undefined {
    const running = this.#waiting.get(id);
    if (running) this.#waiting.delete(id);
    return running;
  }

  #end(running: Running, end: Answer | Error): void {
    if (running.sent === undefined) this.#waiting.delete(running.call.id);
    running.end = end;
    running.ended = performance.now();
    this.#ended.push(running);
    this.#due ??= setImmediate(() => this.flush());
  }

  /** Arguments from within the process need not be JSON, and an answer may only look like it: neither may end the process. */
  #try(running: Running, clock: number): void {
    try {
      this.#write(running, clock);
    } catch (error) {
      this.#log.warn({ err: error, call: running.call.id }, "a call could not be remembered");
    }
  }

  /** @param clock the time of day at which `performance.now()` was 0 */
  #write(running: Running, clock: number): void {
    const { call } = running;
    const end = running.end!;
    const looked = call.args && this.#look(call.args);
    const secrets = looked?.secrets ?? NONE;
    const args = this.#options.arguments === "off" ? undefined : looked?.kept;
    const result = looked?.unsearched ? undefined : this.#resultOf(end, secrets);
    const head = this.#headOf(running, clock, messageOf(end, secrets), args, result);
    const text = toRecord(head, args?.text ?? "", result?.text ?? "");
    this.#ring.push(text, result?.answer, result?.answerBytes);
  }

  #headOf(
    { call, started, ended, sent, progress, end }: Running,
    clock: number,
    message: string | null,
    args: KeptArguments | undefined,
    result: KeptResult | undefined,
  ): string {
    const { id, server, name, source, endpoint, principal } = call;
    const { outcome, code } = endOf(end!);
    return writeHead({
      id,
      at: Math.round(clock + started),
      server,
      tool: name.slice(0, MAX_MESSAGE),
      source,
      endpoint,
      principal: principal.ref,
      outcome,
      code,
      message,
      totalMs: rounded(ended - started),
      queuedMs: sent === undefined ? null : rounded(sent - started),
      progress,
      replayOf: (call.args && this.#replays.get(call.args)) ?? null,
      flags: flagsOf(call, args, result),
      resultSize: result?.size ?? null,
      replica: this.#replica,
    });
  }

  /** Also done when arguments are not kept: what must not stand in the result is known from them alone. */
  #look(args: object): Looked {
    const { arguments: mode, maxArguments: limit } = this.#options;
    return keepArguments(args, { limit, secrets: mode === "full" ? undefined : this.#secrets });
  }

  #resultOf(end: Answer | Error, secrets: readonly string[]): KeptResult | undefined {
    const { results, maxResult } = this.#options;
    if (!results || end instanceof Error || end.isRpcError) return undefined;
    return keepResult(end, maxResult, secrets);
  }
}

function flagsOf(
  { args: given }: Call,
  args: KeptArguments | undefined,
  result: KeptResult | undefined,
): number {
  return (
    (given ? FLAGS.hasArguments : 0) |
    (args ? FLAGS.keptArguments : 0) |
    (args?.redacted ? FLAGS.redactedArguments : 0) |
    (args?.truncated ? FLAGS.truncatedArguments : 0) |
    (result ? FLAGS.keptResult : 0) |
    (result?.truncated ? FLAGS.truncatedResult : 0)
  );
}

/** Milliseconds with three decimals. */
function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

function messageOf(end: Answer | Error, secrets: readonly string[]): string | null {
  if (!(end instanceof Error) && !end.isRpcError) return null;
  const { message } = end instanceof Error ? end : end.error!;
  return typeof message === "string" ? hideSecrets(message, secrets).slice(0, MAX_MESSAGE) : null;
}
