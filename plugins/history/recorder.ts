import { endOf, toGatewayError, type Answer, type Call, type Middleware } from "propylon";
import { keepArguments, type KeptArguments, type Looked } from "./arguments.ts";
import type { Entry } from "./entry.ts";
import type { HistoryOptions } from "./options.ts";
import { hideSecrets, keepResult, withoutSecrets, type KeptResult } from "./result.ts";
import type { Ring } from "./ring.ts";
import type { Secrets } from "./secrets.ts";

/** A call that runs. */
interface Running {
  readonly call: Call;
  readonly at: number;
  readonly started: number;
  /** When it left for its server. */
  sent: number | undefined;
  progress: number;
}

/** A call that ended and is not written down yet. */
interface Ended {
  readonly running: Running;
  readonly end: Answer | Error;
  readonly ended: number;
}

/** Memory of an entry without arguments and result. */
const ENTRY_BYTES = 512;
const MAX_MESSAGE = 500;

/** Watches calls and writes them down once they are over, many at a time, so that no caller waits for it. */
export class Recorder {
  readonly #ring: Ring;
  readonly #options: HistoryOptions;
  readonly #secrets: Secrets;
  readonly #running = new Map<string, Running>();
  /** Ids of the repeated calls, by the arguments that repeat them. */
  readonly #replays = new WeakMap<object, string>();
  #ended: Ended[] = [];
  #due: NodeJS.Immediate | undefined;

  constructor(ring: Ring, options: HistoryOptions, secrets: Secrets) {
    this.#ring = ring;
    this.#options = options;
    this.#secrets = secrets;
  }

  /** For the stage `observe`: sees every call, denials included. */
  readonly watch: Middleware = (call, next) => {
    if (call.method !== "tools/call") return next(call);
    const running: Running = {
      call,
      at: Date.now(),
      started: performance.now(),
      sent: undefined,
      progress: 0,
    };
    this.#running.set(call.id, running);
    const answer = next(call.progress ? counted(call, running) : call);
    answer.then(
      (end) => this.#end(running, end),
      (thrown: unknown) => this.#end(running, toGatewayError(thrown)),
    );
    return answer;
  };

  /** For the last stage: notes when a call leaves for its server. */
  readonly note: Middleware = (call, next) => {
    const running = this.#running.get(call.id);
    if (running) running.sent = performance.now();
    return next(call);
  };

  /** Remembers that whoever calls with these arguments, the very object, repeats a call. */
  repeats(args: object, id: string): void {
    this.#replays.set(args, id);
  }

  /** Writes down what has ended. */
  flush(): void {
    clearImmediate(this.#due);
    this.#due = undefined;
    const { entries, memory } = this.#options;
    for (const ended of this.#ended.splice(0))
      this.#ring.push(this.#entryOf(ended), { entries, memory });
  }

  #end(running: Running, end: Answer | Error): void {
    this.#running.delete(running.call.id);
    this.#ended.push({ running, end, ended: performance.now() });
    this.#due ??= setImmediate(() => this.flush());
  }

  #entryOf({ running, end, ended }: Ended): Entry {
    const { call, at, started, sent, progress } = running;
    const { id, server, name, source, endpoint, principal } = call;
    const looked = this.#look(call);
    const secrets = looked?.secrets ?? [];
    const args = this.#options.arguments === "off" ? undefined : looked?.kept;
    const result = looked?.unsearched ? undefined : this.#resultOf(end, secrets);
    const message = messageOf(end, secrets);
    const { outcome, code } = endOf(end);
    return {
      number: this.#ring.nextNumber(),
      id,
      at,
      server,
      tool: name.slice(0, MAX_MESSAGE),
      source,
      endpoint,
      principal: principal.id,
      outcome,
      code,
      message,
      totalMs: ended - started,
      queuedMs: sent === undefined ? undefined : sent - started,
      progress,
      hasArguments: call.args !== undefined,
      args,
      result,
      replayOf: call.args && this.#replays.get(call.args),
      bytes: sizeOf(name, args, result, message),
    };
  }

  /** Also done when arguments are not kept: what must not stand in the result is known from them alone. */
  #look({ args }: Call): Looked | undefined {
    if (args === undefined) return undefined;
    const { arguments: mode, argumentLimit: limit } = this.#options;
    return keepArguments(args, { limit, secrets: mode === "full" ? undefined : this.#secrets });
  }

  #resultOf(end: Answer | Error, secrets: readonly string[]): KeptResult | undefined {
    const { results, resultLimit } = this.#options;
    if (!results || end instanceof Error || end.isRpcError) return undefined;
    const kept = keepResult(end, resultLimit);
    return secrets.length === 0 ? kept : withoutSecrets(kept, secrets);
  }
}

/** The call with its progress reports counted; only made where somebody asked for them. */
function counted(call: Call, running: Running): Call {
  const { progress } = call;
  return {
    ...call,
    progress(report) {
      running.progress++;
      progress!(report);
    },
  };
}

function messageOf(end: Answer | Error, secrets: readonly string[]): string | undefined {
  if (!(end instanceof Error) && !end.isRpcError) return undefined;
  const { message } = end instanceof Error ? end : end.error!;
  return typeof message === "string"
    ? hideSecrets(message, secrets).slice(0, MAX_MESSAGE)
    : undefined;
}

function sizeOf(
  name: string,
  args: KeptArguments | undefined,
  result: KeptResult | undefined,
  message = "",
): number {
  const characters = name.length + (result?.text.length ?? 0) + message.length;
  return ENTRY_BYTES + (args?.bytes ?? 0) + 2 * characters;
}
