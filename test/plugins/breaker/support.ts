import { Answer, GatewayError, type Call, type Next } from "../../../core/index.ts";
import { Circuit, newMemory, type CircuitHost } from "../../../plugins/breaker/circuit.ts";
import { makeCall } from "../servers/support/calls.ts";
import type { BreakerStatus } from "../../../plugins/breaker/service.ts";

/** A call to a server named `up`. */
export function callUp(parts: Partial<Call> = {}): Call {
  return makeCall("tool", {}, { server: "up", ...parts });
}

/** The ways a call can end. */
export const ENDS = {
  answer: (() => Promise.resolve(Answer.result({ content: [] }))) as Next,
  isError: (() => Promise.resolve(Answer.result({ content: [], isError: true }))) as Next,
  rpcError: (() => Promise.resolve(Answer.error({ code: -32602, message: "no" }))) as Next,
  broken: (() => Promise.reject(new GatewayError("upstream_error", "It broke off."))) as Next,
  timeout: (() => Promise.reject(new GatewayError("timeout", "Too late."))) as Next,
  cancelled: (() => Promise.reject(new GatewayError("cancelled", "Gone."))) as Next,
  tooLarge: (() => Promise.reject(new GatewayError("result_too_large", "Big."))) as Next,
  bug: (() => Promise.reject(new Error("oops"))) as Next,
};

/** One circuit with what it did. */
export interface Bed {
  readonly circuit: Circuit;
  readonly changes: BreakerStatus[];
  readonly dials: string[];
  /** Runs a call to its end: `ok`, or the code of its failure, and whether it reached the server. */
  run(next: Next, call?: Call): Promise<{ readonly end: string; readonly reached: boolean }>;
  /** Makes redialling fail or work. */
  redial: () => Promise<void>;
}

/** A circuit that opens after `failures` for 30 s to 300 s. */
export function makeBed(failures = 5): Bed {
  const changes: BreakerStatus[] = [];
  const dials: string[] = [];
  const host: CircuitHost = {
    options: { failures, initial: 30_000, max: 300_000 },
    redial: (server) => {
      dials.push(server);
      return bed.redial();
    },
    changed: (_server, status) => void changes.push(status),
  };
  const circuit = new Circuit("up", newMemory(), host);
  const bed: Bed = {
    circuit,
    changes,
    dials,
    redial: () => Promise.resolve(),
    async run(next, call = callUp()) {
      let reached = false;
      const counted: Next = (passed) => {
        reached = true;
        return next(passed);
      };
      try {
        await (async () => circuit.pass(call, counted))();
        return { end: "ok", reached };
      } catch (error) {
        return { end: error instanceof GatewayError ? error.code : "bug", reached };
      }
    },
  };
  return bed;
}
