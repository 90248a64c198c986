import { GatewayError, type Principal, toGatewayError } from "propylon";
import { type Cancellation, type EndpointHost, setTimer, toRpcError } from "propylon/kit";
import type { Views } from "./views.ts";
import type { Forward } from "./forward.ts";
import { isFault, isUnknown } from "./forward.ts";
import type { Fault } from "./protocol.ts";
import { isSettling, type FirstConnect } from "./first-connect.ts";
import { FairQuota } from "./fair-quota.ts";

/** Calls that wait cost memory, and clients decide how many there are. */
const MAX_WAITING = 1_000;
const MAX_OF_ONE = 100;

/** How the wait of a call ends. */
type End = (outcome: Forward | Fault) => void;

/** An early call, as far as its wait goes. */
export interface EarlyCall {
  readonly principal: Principal;
  readonly cancellation: Cancellation;
  /** Looks where the call goes, as things stand. */
  readonly find: () => Forward | Fault;
}

/** The endpoint that calls wait at. */
export interface Waited {
  readonly firstConnect: FirstConnect;
  readonly host: EndpointHost;
  readonly views: Views;
}

/**
 * Calls for a name that nobody has yet while servers connect for the first time: clients that kept their lists over a restart
 * of the gateway know tools before it does.
 */
export class EarlyCalls {
  readonly #context: Waited;
  readonly #waiting = new Set<() => void>();
  readonly #shares = new FairQuota();

  constructor(context: Waited) {
    this.#context = context;
  }

  /** Whether a call that names nothing known is to wait. */
  concerns(forward: Forward | Fault): forward is Fault {
    return isFault(forward) && isUnknown(forward) && this.#context.firstConnect.open;
  }

  /**
   * Waits until somebody has what the call names, every server has answered or failed, or the time of a call is over.
   * Never rejects.
   */
  wait(call: EarlyCall): Promise<Forward | Fault> {
    const { principal } = call;
    const full = this.#waiting.size >= MAX_WAITING || this.#shares.of(principal.ref) >= MAX_OF_ONE;
    if (full) return Promise.resolve(this.#starting());
    this.#shares.add(principal.ref);
    return new Promise<Forward | Fault>((resolve) => this.#hold(call, resolve)).finally(() =>
      this.#shares.remove(principal.ref),
    );
  }

  /** Looks again: what is shown has changed, or all servers have answered. */
  retry(): void {
    for (const again of this.#waiting) again();
  }

  #hold({ principal, cancellation, find }: EarlyCall, resolve: End): void {
    const { host } = this.#context;
    const end: End = (outcome) => {
      clearTimeout(timer);
      cancellation.removeEventListener("abort", abort);
      this.#waiting.delete(again);
      release();
      resolve(outcome);
    };
    const again = (): void => {
      const outcome = find();
      if (!this.concerns(outcome)) end(outcome);
    };
    const abort = (): void => end(toFault(cancellation.reason));
    const timer = setTimer(() => end(this.#starting()), host.callTimeout);
    // Who takes the credential away, or shuts down, ends calls in flight; this one is in no pipeline yet.
    const release = host.current.hold({
      slot: -1,
      principal,
      abort: (reason) => end(toFault(reason)),
    });
    cancellation.addEventListener("abort", abort);
    this.#waiting.add(again);
  }

  #starting(): Fault {
    const names = this.#context.views.base.servers.filter(isSettling).map(({ name }) => name);
    const some = names.slice(0, 5).join(", ") + (names.length > 5 ? ", ..." : "");
    const message = `Nobody has this name yet, and servers are still connecting (${some}): try again.`;
    return toFault(new GatewayError("upstream_error", message));
  }
}

function toFault(reason: unknown): Fault {
  return { status: 200, ...toRpcError(toGatewayError(reason)) };
}
