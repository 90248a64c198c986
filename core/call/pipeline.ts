import { type Call, type Middleware, type Next, amendCall } from "./call.ts";
import type { Answer } from "./answer.ts";
import {
  abortableOf,
  abortError,
  Cancellation,
  ownCancellation,
  type InFlightSet,
  type Slotted,
} from "../kit/cancellation.ts";
import { setTimer } from "../kit/timers.ts";
import { GatewayError } from "../kit/errors.ts";
import type { Server } from "./server.ts";
import { STAGES, type Stage } from "./stages.ts";
import type { CallHead, Principal, Progress } from "../kit/types.ts";

/**
 * How long a call may run, in milliseconds.
 *
 * @example
 * const rule = (call: Call): Deadline => ({ total: call.timeout ?? 30_000, idle: 5_000 });
 * gateway.use("deadline", { limit: rule });
 */
export interface Deadline {
  /** From its start to its end. */
  readonly total: number;
  /** Without any progress report; default: no bound. */
  readonly idle?: number;
}

/**
 * Decides how long calls may run; see `PluginContext.use`.
 *
 * @example
 * const rule: DeadlineRule = { limit: (call) => ({ total: call.timeout ?? 30_000 }) };
 * gateway.use("deadline", rule);
 */
export interface DeadlineRule {
  limit(call: Call): Deadline;
}

/**
 * How long a call may run as far as its tool, its server and the gateway say, in milliseconds; the first that is set counts.
 *
 * @example const { tool, server, default: fallback }: Timeouts = gateway.info.timeouts(call);
 */
export interface Timeouts {
  /** `timeout` of a plugin's own tool. */
  readonly tool?: number;
  /** `servers.<name>.timeout`. */
  readonly server?: number;
  /** `timeouts.default`. */
  readonly default: number;
}

/** A middleware at its place. */
export interface StagedMiddleware {
  readonly stage: Stage;
  readonly run: Middleware;
}

/**
 * Puts middleware around the terminal in the order of {@link STAGES}; within one stage the order given stays. A stage nobody
 * joined costs nothing, and with no middleware at all the terminal itself is returned.
 */
export function composePipeline(middleware: readonly StagedMiddleware[], terminal: Next): Next {
  const ordered = middleware.toSorted((a, b) => STAGES.indexOf(a.stage) - STAGES.indexOf(b.stage));
  return ordered.reduceRight<Next>((next, { run }) => {
    // Made once: a middleware that throws at once must look to the one around it like one that rejects.
    const inner: Next = (call) => run(call, next);
    return (call) => attempt(inner, call);
  }, terminal);
}

/** Runs a call; what throws at once rejects like everything else. */
export function attempt(next: Next, call: Call): Promise<Answer> {
  try {
    return next(call);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** The end of the pipeline. A server that does not watch the signal itself is raced against it. */
export function createTerminal(servers: ReadonlyMap<string, Server>): Next {
  return (call) => {
    const server = servers.get(call.server);
    if (server?.watchesSignal) return server.request(call);
    if (server) return race(call, () => server.request(call));
    return Promise.reject(new GatewayError("not_found", `No server named "${call.server}".`));
  };
}

/**
 * Rejects as soon as the call is aborted, whatever the work does. For servers that cannot be trusted to watch the signal
 * themselves; upstreams do, and are not raced.
 */
export function race(call: Call, work: () => Promise<Answer>): Promise<Answer> {
  const aborted = abortableOf(call);
  if (aborted.aborted) return Promise.reject(abortError(aborted));
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(abortError(aborted));
    aborted.addEventListener("abort", abort, { once: true });
    work()
      .then(resolve, reject)
      .finally(() => aborted.removeEventListener("abort", abort));
  });
}

/**
 * Something in flight that a shutdown can end.
 *
 * @example const work: Abortion = { slot: -1, principal, abort: (reason) => job.stop(reason) };
 */
export interface Abortion extends Slotted {
  /** Whose it is. */
  readonly principal?: Principal | undefined;
  /** Whether it was ended already, where that is known. */
  readonly aborted?: boolean;
  /** The call, for what is one. */
  readonly call?: CallHead | undefined;
  /** Since when it is in flight, as `performance.now()`; for a call. */
  readonly started?: number;
  abort(reason?: unknown): void;
}

/**
 * Counts a call as running from its first stage on, so that one that waits in a stage, e.g. in the queue of a limit, can be ended
 * like one that a server works on.
 */
export function createEntry(next: Next, running: InFlightSet<Abortion>): Next {
  return (call) => {
    const own = ownCancellation(call);
    return own
      ? track(call, own, next, running)
      : derive(call, (derived, cancellation) => track(derived, cancellation, next, running));
  };
}

function track(
  call: Call,
  own: Cancellation,
  next: Next,
  running: InFlightSet<Abortion>,
): Promise<Answer> {
  own.call = call;
  own.started = performance.now();
  running.add(own);
  const answer = attempt(next, call);
  const end = (): void => void running.delete(own);
  answer.then(end, end);
  return answer;
}

/** What the config and the tools themselves say about how long a call may run; see `GatewayInfo.timeouts`. */
export type Allowance = (call: Pick<Call, "method" | "server" | "name">) => Timeouts;

/** What an {@link Allowance} is read off. */
interface AllowanceInput {
  readonly config: {
    readonly timeouts: Pick<Timeouts, "default">;
    readonly servers: Readonly<Record<string, { readonly timeout?: number | undefined }>>;
  };
  /** As everybody sees them. */
  readonly servers: ReadonlyMap<string, Server>;
}

/** Reads the allowance off a config and its plugins. */
export function createAllowance({ config, servers: shown }: AllowanceInput): Allowance {
  const gateway: Timeouts = { default: config.timeouts.default };
  const servers = new Map(
    Object.entries(config.servers).map(([name, { timeout }]) => [
      name,
      timeout === undefined ? gateway : { ...gateway, server: timeout },
    ]),
  );
  return ({ method, server, name }) => {
    const isOfPlugin = method === "tools/call" && !servers.has(server);
    const tool = isOfPlugin ? shown.get(server)?.timeoutOf?.(name) : undefined;
    return tool === undefined ? (servers.get(server) ?? gateway) : { ...gateway, tool };
  };
}

/** The time of a call: what its caller asked for, else its tool's or server's, else the gateway's. */
export function ownRule(allowance: Allowance): (call: Call) => Deadline {
  return (call) => {
    const { tool, server, default: fallback } = allowance(call);
    return { total: call.timeout ?? tool ?? server ?? fallback };
  };
}

/**
 * The stage `deadline`: aborts a call after its time with `timeout` (the caller sees 504 and the milliseconds).
 * It only aborts; the terminal enforces it, so that a breaker in between sees the timeout as the failure it is.
 *
 * @param of how long a call may run; a throw refuses it
 * @param running holds every call in flight, so that a shutdown can abort them
 */
export function createDeadline(
  of: (call: Call) => Deadline,
  running: InFlightSet<Abortion>,
): Middleware {
  return (call, next) => {
    const own = ownCancellation(call);
    if (own) return limit(call, own, of(call), next, running);
    const deadline = of(call);
    return derive(call, (derived, cancellation) =>
      limit(derived, cancellation, deadline, next, running),
    );
  };
}

/** The call's own cancellation takes the timeout too: nothing is derived and nothing is copied. */
function limit(
  call: Call,
  own: Cancellation,
  { total, idle }: Deadline,
  next: Next,
  running: InFlightSet<Abortion>,
): Promise<Answer> {
  if (own.aborted) return Promise.reject(abortError(own));
  const timer = setTimer(() => own.abort(timeoutError(call, total)), total);
  const silence = idle === undefined || idle >= total ? undefined : watchSilence(call, own, idle);
  // A call that came through an entry is counted already, and until its last stage ends.
  const isCounted = own.slot >= 0;
  const end = (): void => {
    clearTimeout(timer);
    silence?.end();
    if (!isCounted) running.delete(own);
  };
  if (!isCounted) {
    own.call = call;
    running.add(own);
  }
  const answer = attempt(next, silence?.call ?? call);
  answer.then(end, end);
  return answer;
}

/** The watch over the progress of one call. */
interface Silence {
  /** The call for the rest of the pipeline. */
  readonly call: Call;
  /** Stops watching. */
  end(): void;
}

/**
 * Ends a call that reports no progress for a time. The rest of the pipeline gets a copy that asks for progress even where the
 * caller did not; what arrives then goes no further.
 */
function watchSilence(call: Call, own: Cancellation, ms: number): Silence {
  const timer = setTimer(() => own.abort(silenceError(call, ms)), ms);
  let isOver = false;
  const progress = (report: Progress): void => {
    // `refresh` would start even a cleared timer again.
    if (!isOver && !own.aborted) timer.refresh();
    call.progress?.(report);
  };
  const end = (): void => {
    isOver = true;
    clearTimeout(timer);
  };
  return { call: amendCall(call, { progress }), end };
}

/** The caller's signal is not ours to abort, so the rest of the pipeline gets one that follows it. */
function derive(
  call: Call,
  run: (derived: Call, cancellation: Cancellation) => Promise<Answer>,
): Promise<Answer> {
  const { signal } = call;
  const cancellation = new Cancellation();
  const follow = (): void => cancellation.abort(signal.reason);
  if (signal.aborted) follow();
  else signal.addEventListener("abort", follow, { once: true });
  const derived: Call = {
    ...call,
    cancellation,
    get signal() {
      return cancellation.signal;
    },
  };
  const answer = run(derived, cancellation);
  const end = (): void => signal.removeEventListener("abort", follow);
  answer.then(end, end);
  return answer;
}

function timeoutError({ server, name }: Call, ms: number): GatewayError {
  return new GatewayError("timeout", `"${name}" of "${server}" did not answer within ${ms} ms.`, {
    data: { timeout: ms },
  });
}

function silenceError({ server, name }: Call, ms: number): GatewayError {
  return new GatewayError(
    "timeout",
    `"${name}" of "${server}" reported no progress for ${ms} ms.`,
    { data: { idle: ms } },
  );
}
