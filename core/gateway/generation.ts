import type { Call } from "../call/call.ts";
import type { Answer } from "../call/answer.ts";
import type { Compiled } from "./compile.ts";
import type { Places } from "../config/config.ts";
import type { PlacedSelector } from "./check/selectors.ts";
import type { GatewayConfig } from "../config/schema.ts";
import type { Credits } from "../http/authenticator.ts";
import { setTimer } from "../kit/timers.ts";
import { GatewayError } from "../kit/errors.ts";
import { attempt, type Abortion } from "../call/pipeline.ts";
import type { InFlightSet } from "../kit/cancellation.ts";
import type { Scope } from "./scope.ts";
import type { Service } from "../kit/service.ts";
import type { CallRunner } from "../plugin/endpoint-server.ts";
import type { CallHead, Principal } from "../kit/types.ts";

/** A call in flight, with its start as `performance.now()`. */
interface CallInFlight {
  readonly call: CallHead;
  readonly started: number;
}

/** Absolute paths of files that plugins read beside the config: texts, and modules without what those import. */
export interface SourceFiles {
  readonly texts: readonly string[];
  readonly code: readonly string[];
}

/** One applied config: what it was made from, what serves it, and how many calls it still has to finish. */
export class Generation {
  readonly number: number;
  /** The config as given. */
  readonly written: GatewayConfig;
  /** The config in force: {@link written} with what plugins added to it. */
  readonly config: GatewayConfig;
  /** Where its parts stand in the file; another, when the file was saved with the same on other lines. */
  places: Places;
  /** In graph order. */
  readonly scopes: readonly Scope[];
  /** Names in the options of plugins that select servers, tools and keys. */
  readonly selectors: readonly PlacedSelector[];
  readonly compiled: Compiled;
  /** What can be aborted of the calls in flight. */
  readonly running: InFlightSet<Abortion>;
  /** What plugins provide, by id; made when it is first asked for. */
  #services: ReadonlyMap<string, unknown> | undefined;
  #inFlight = 0;
  #isAbandoned = false;
  readonly #waiting: (() => void)[] = [];
  readonly #end = (): void => {
    if (--this.#inFlight === 0) this.#wake();
  };

  constructor(
    parts: Pick<
      Generation,
      "number" | "written" | "config" | "places" | "scopes" | "compiled" | "running"
    > &
      Partial<Pick<Generation, "selectors">>,
  ) {
    this.number = parts.number;
    this.written = parts.written;
    this.config = parts.config;
    this.places = parts.places;
    this.scopes = parts.scopes;
    this.selectors = parts.selectors ?? [];
    this.compiled = parts.compiled;
    this.running = parts.running;
  }

  /** Files that plugins read beside the config. */
  get sources(): SourceFiles {
    const of = (kind: "text" | "code"): readonly string[] =>
      this.scopes.flatMap(({ sources }) => sources.of(kind));
    return { texts: of("text"), code: of("code") };
  }

  /** What lets people in. */
  get credits(): Credits {
    return { strict: this.config.auth.strict, links: this.compiled.authenticators };
  }

  /** Calls that have not ended yet. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** What a plugin that serves endpoints gets of it. */
  readonly runner: CallRunner = Object.freeze({
    call: (call: Call) => this.call(call),
    hold: (work: Abortion) => this.hold(work),
    service: <T>(service: Service<T>) => this.service(service),
  });

  /** Runs a call through this generation's pipeline. */
  call(call: Call): Promise<Answer> {
    this.#inFlight++;
    const answer = attempt(this.compiled.call, call);
    answer.then(this.#end, this.#end);
    return answer;
  }

  /** Counts as in flight what is not in any pipeline at the moment, until the returned function is called. */
  hold(work: Abortion): () => void {
    this.#inFlight++;
    this.running.add(work);
    return () => {
      this.running.delete(work);
      this.#end();
    };
  }

  /** What a plugin provides. */
  service<T>({ id }: Service<T>): T | undefined {
    this.#services ??= new Map(
      this.scopes.flatMap(({ plugin, service }) =>
        plugin.provides ? [[plugin.provides.id, service] as const] : [],
      ),
    );
    return this.#services.get(id) as T | undefined;
  }

  /** Waits until no call is in flight, at most so many milliseconds; tells whether it came to that. */
  async whenIdle(ms: number): Promise<boolean> {
    const until = performance.now() + ms;
    // Looked at again after the wait: the taker of the last answer may hold its call in the same turn.
    while (this.#inFlight > 0 && !this.#isAbandoned) {
      if (!(await this.#nextIdle(Math.max(0, until - performance.now())))) return false;
    }
    return this.#inFlight === 0;
  }

  #nextIdle(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimer(() => resolve(false), ms);
      this.#waiting.push(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }

  /** Ends every wait: calls that do not end although they were aborted hold up nothing any more. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Aborts every call in flight. */
  abort(): void {
    this.abortThose(() => true, new GatewayError("cancelled", "The gateway is shutting down."));
  }

  /** The calls in flight. One is there twice when a middleware gave it another signal: the outer one counts, which began first. */
  calls(): ReadonlyMap<string, CallInFlight> {
    const found = new Map<string, CallInFlight>();
    for (const { call, started = 0 } of this.running) {
      if (!call) continue;
      const other = found.get(call.id);
      if (!other || started < other.started) found.set(call.id, { call, started });
    }
    return found;
  }

  /** Ends one call in flight; whether it was there. */
  cancel(id: string, error: GatewayError): boolean {
    const those = [...this.running].filter(({ call }) => call?.id === id);
    for (const each of those) each.abort(error);
    return those.length > 0;
  }

  /** Aborts the calls in flight of matching principals; tells how many that were. */
  abortThose(match: (principal: Principal | undefined) => boolean, error: GatewayError): number {
    const calls = [...this.running].filter(({ principal }) => match(principal));
    let ended = 0;
    for (const call of calls) {
      // One call is there twice when a middleware gave it another signal; the first abort ends both.
      if (call.aborted !== true) ended++;
      call.abort(error);
    }
    return ended;
  }
}
