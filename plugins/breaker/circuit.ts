import {
  GatewayError,
  toGatewayError,
  type Answer,
  type Call,
  type Next,
  isGatewayError,
} from "propylon";
import { backoffDelay } from "propylon/kit";
import type { BreakerOptions } from "./options.ts";
import type { BreakerStatus } from "./service.ts";

/** What is known of one server's circuit; survives reloads of the plugin. Instants are those of `performance.now()`. */
export interface CircuitMemory {
  state: BreakerStatus["state"];
  /** Transport failures in a row. */
  failures: number;
  /** Openings in a row. */
  openings: number;
  /** Openings ever. */
  opened: number;
  /** Counts up whenever the circuit closes: what began before belongs to another period and is not counted. */
  period: number;
  /** When the next call is let through; wall clock jumps must not move it. */
  dueAt: number;
  /** Whether a connection was made since the circuit opened, so that the next trial needs none. */
  redialled: boolean;
  reason?: string;
  openedAt?: string;
  retryAt?: string;
}

/** What a {@link Circuit} works with. */
export interface CircuitHost {
  readonly options: Pick<BreakerOptions, "failures" | "initial" | "max">;
  /** Makes a new connection to the server. @throws {GatewayError} `upstream_error` when it does not come back */
  redial(server: string): Promise<void>;
  /** The state changed. */
  changed(server: string, status: BreakerStatus, openings: number): void;
}

/** Handlers of the calls of one period, made once so that a call costs no closure. */
interface OutcomeCounts {
  readonly period: number;
  readonly answered: () => void;
  readonly failed: (error: unknown) => void;
  /** For calls whose caller set the time limit. */
  readonly failedImpatiently: (error: unknown) => void;
}

/** Nothing known: closed. */
export function newMemory(): CircuitMemory {
  return {
    state: "closed",
    failures: 0,
    openings: 0,
    opened: 0,
    period: 0,
    dueAt: 0,
    redialled: false,
  };
}

/**
 * The circuit of one server: closed until so many transport failures in a row, then open for a time that doubles, then
 * half-open for a single trial call.
 */
export class Circuit {
  readonly #server: string;
  readonly #memory: CircuitMemory;
  readonly #host: CircuitHost;
  #counts: OutcomeCounts;

  constructor(server: string, memory: CircuitMemory, host: CircuitHost) {
    this.#server = server;
    this.#memory = memory;
    this.#host = host;
    this.#counts = this.#newCounts();
  }

  get status(): BreakerStatus {
    return breakerStatusOf(this.#memory);
  }

  /** Lets a call through, or refuses it with `circuit_open` before anything reaches the server. */
  pass(call: Call, next: Next): Promise<Answer> {
    const memory = this.#memory;
    if (memory.state !== "closed") return this.#passOpen(call, next);
    if (this.#counts.period !== memory.period) this.#counts = this.#newCounts();
    const { answered, failed, failedImpatiently } = this.#counts;
    const answer = next(call);
    answer.then(answered, isImpatient(call) ? failedImpatiently : failed);
    return answer;
  }

  /** Closes it, whatever it was. Calls still running count for nothing any more. */
  close(): void {
    const memory = this.#memory;
    const wasClosed = memory.state === "closed";
    const { opened, period } = memory;
    delete memory.reason;
    delete memory.openedAt;
    delete memory.retryAt;
    Object.assign(memory, { ...newMemory(), opened, period: period + 1 });
    if (!wasClosed) this.#report();
  }

  #newCounts(): OutcomeCounts {
    const { period } = this.#memory;
    const counts = (): boolean => this.#memory.period === period && this.#memory.state === "closed";
    const count = (error: Error): void => {
      if (counts() && ++this.#memory.failures >= this.#host.options.failures) this.#open(error);
    };
    return {
      period,
      answered: () => {
        if (this.#memory.failures > 0 && counts()) this.#memory.failures = 0;
      },
      failed: (error) => {
        if (isTransportFailure(error)) count(error);
      },
      failedImpatiently: (error) => {
        if (isBroken(error)) count(error);
      },
    };
  }

  #passOpen(call: Call, next: Next): Promise<Answer> {
    const memory = this.#memory;
    if (memory.state === "half-open" || performance.now() < memory.dueAt) throw this.#refusal();
    return this.#try(call, next);
  }

  /** The one call of a half-open circuit. A connection that went bad unnoticed would fail it forever, so a new one is made. */
  async #try(call: Call, next: Next): Promise<Answer> {
    const { period } = this.#memory;
    this.#memory.state = "half-open";
    this.#report();
    const dialled = this.#dial(period);
    dialled.catch(() => undefined);
    try {
      await whileWanted(dialled, call.signal);
      const answer = await next(call);
      if (this.#isTrying(period)) this.close();
      return answer;
    } catch (error) {
      const counts = isImpatient(call) ? isBroken(error) : isTransportFailure(error);
      if (counts) this.#reopen(period, error);
      // The caller gave up, which proves nothing: the connection decides, and after it the next call.
      else
        dialled.then(
          () => this.#await(period),
          (reason: unknown) => this.#reopen(period, reason),
        );
      throw error;
    }
  }

  async #dial(period: number): Promise<void> {
    if (this.#memory.redialled) return;
    await this.#host.redial(this.#server);
    if (this.#memory.period === period) this.#memory.redialled = true;
  }

  #isTrying(period: number): boolean {
    return this.#memory.period === period && this.#memory.state === "half-open";
  }

  #reopen(period: number, error: unknown): void {
    if (!this.#isTrying(period)) return;
    this.#memory.failures++;
    this.#open(toGatewayError(error));
  }

  /** Open again, with the next call as the next trial. */
  #await(period: number): void {
    if (!this.#isTrying(period)) return;
    this.#memory.state = "open";
    this.#report();
  }

  #open({ message }: Error): void {
    const memory = this.#memory;
    const wait = backoffDelay(memory.openings + 1, this.#host.options);
    const now = Date.now();
    memory.state = "open";
    memory.openings++;
    memory.opened++;
    memory.redialled = false;
    memory.dueAt = performance.now() + wait;
    memory.reason = `${memory.failures} transport failure${memory.failures === 1 ? "" : "s"} in a row, the last: ${message}`;
    memory.openedAt = new Date(now).toISOString();
    memory.retryAt = new Date(now + wait).toISOString();
    this.#report();
  }

  #refusal(): GatewayError {
    const { dueAt, state, failures, reason, retryAt } = this.#memory;
    const seconds = Math.max(1, Math.ceil((dueAt - performance.now()) / 1_000));
    const server = this.#server;
    return new GatewayError(
      "circuit_open",
      `Server "${server}" gets no calls for now: ${reason ?? ""}`,
      {
        data: { server, state, failures, reason, retryAt, retryAfter: seconds },
        hint: `Try again in ${seconds} s, or close the circuit with POST /_meta/servers/${server}/breaker/reset.`,
        headers: { "retry-after": String(seconds) },
      },
    );
  }

  #report(): void {
    this.#host.changed(this.#server, this.status, this.#memory.openings);
  }
}

/** A memory as others see it. */
export function breakerStatusOf(memory: CircuitMemory): BreakerStatus {
  const { state, failures, reason, openedAt, retryAt } = memory;
  return {
    state,
    failures,
    ...(reason !== undefined && { reason }),
    ...(openedAt !== undefined && { openedAt }),
    ...(retryAt !== undefined && { retryAt }),
  };
}

/**
 * Whether a call failed because of the transport: the server was not reached, broke off, or did not answer in time. An
 * `isError` result and a JSON-RPC error are answers and never get here; a result that is too large was one as well; a client's
 * cancel says nothing about the server.
 */
function isTransportFailure(error: unknown): error is Error {
  return isGatewayError(error) && (error.code === "upstream_error" || error.code === "timeout");
}

/** Whether a call failed because the server was not reached or broke off. */
function isBroken(error: unknown): error is Error {
  return isGatewayError(error) && error.code === "upstream_error";
}

/**
 * Whether the caller may have set the time limit itself. Its timeouts are not counted: five calls with a limit of 1 ms would
 * cut everybody else off from a healthy server.
 */
function isImpatient({ timeout, meta }: Call): boolean {
  return timeout !== undefined || meta?.["propylon/timeout"] !== undefined;
}

/**
 * Waits for work that continues on its own, as long as the caller does.
 *
 * @throws {GatewayError} why the caller stopped: the reason of the signal when it is one (`timeout`), else `cancelled`
 */
function whileWanted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(abortReason(signal));
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

function abortReason({ reason }: AbortSignal): GatewayError {
  if (isGatewayError(reason)) return reason;
  return new GatewayError("cancelled", "The call was cancelled.", { cause: reason });
}
