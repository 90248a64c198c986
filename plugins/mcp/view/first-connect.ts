import { GatewayError, type Principal, type Server, toGatewayError } from "propylon";
import { type Cancellation, FairQuota, setTimer } from "propylon/kit";
import type { EndpointHost } from "propylon/internal";
import type { KnownLists } from "./known-lists.ts";
import type { View } from "./view.ts";
import { type Forward, isFault, isUnknown } from "./forward.ts";
import { type Fault, toFault } from "../message/protocol.ts";

/** How long the first requests wait for servers that are still connecting for the first time. */
const LIMIT_MS = 2_000;

/**
 * The time in which servers connect for the first time, and names are read from the store: until then any may be another server's.
 * Clients that come meanwhile wait for it to end, so that what they see first is not an empty list, or one of other names; nobody
 * waits twice for the same servers. Lists come after a while all the same.
 */
export class FirstConnect {
  readonly #known: Pick<KnownLists, "loading">;
  #promise: Promise<void> | undefined;
  #end: (() => void) | undefined;
  #open = false;

  constructor(known: Pick<KnownLists, "loading">) {
    this.#known = known;
  }

  /** What lists wait for: resolves when that time ends, or has taken too long; `undefined` = nothing. */
  get promise(): Promise<void> | undefined {
    return this.#promise;
  }

  /** Whether that time goes on, however long it takes. */
  get open(): boolean {
    return this.#open;
  }

  /** Starts to wait if any of these servers is still to answer for the first time, or names are not read yet. */
  start(servers: readonly Server[]): void {
    if (!this.#isSettling(servers)) return;
    this.#open = true;
    this.#promise ??= new Promise((resolve) => {
      const timer = setTimeout(() => this.#release(), LIMIT_MS).unref();
      this.#end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Ends the wait if all of these servers have answered or failed, and names are read. */
  check(servers: readonly Server[]): void {
    if (this.#open && !this.#isSettling(servers)) this.end();
  }

  /** Ends the wait. */
  end(): void {
    this.#open = false;
    this.#release();
  }

  #isSettling(servers: readonly Server[]): boolean {
    return this.#known.loading !== undefined || servers.some(isSettling);
  }

  #release(): void {
    this.#promise = undefined;
    this.#end?.();
    this.#end = undefined;
  }
}

/** Whether a server has never answered yet, but is about to. */
function isSettling({ status, catalogue }: Server): boolean {
  return catalogue.hash === "" && (status.state === "connecting" || status.state === "idle");
}

/** Calls that wait cost memory, and clients decide how many there are. */
const MAX_WAITING = 1_000;
const MAX_OF_ONE = 100;

/** How the wait of a call ends. */
type End = (outcome: Forward | Fault) => void;

/** An early call, as far as its wait goes. */
interface EarlyCall {
  readonly principal: Principal;
  readonly cancellation: Cancellation;
  /** Looks where the call goes, as things stand. */
  readonly find: () => Forward | Fault;
}

/** The endpoint that calls wait at. */
interface Waited {
  readonly firstConnect: FirstConnect;
  readonly host: EndpointHost;
  readonly views: { readonly base: Pick<View, "servers"> };
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
  concerns(fault: Fault): boolean {
    return isUnknown(fault) && this.#context.firstConnect.open;
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
      if (!isFault(outcome) || !this.concerns(outcome)) end(outcome);
    };
    const abort = (): void => end(toAnswer(cancellation.reason));
    const timer = setTimer(() => end(find()), host.callTimeout);
    // Who withdraws the credential, or shuts down, ends calls in flight; this one is not in any pipeline yet.
    const release = host.current.hold({
      slot: -1,
      principal,
      abort: (reason) => end(toAnswer(reason)),
    });
    cancellation.addEventListener("abort", abort);
    this.#waiting.add(again);
  }

  #starting(): Fault {
    const names = this.#context.views.base.servers.filter(isSettling).map(({ name }) => name);
    const some = names.slice(0, 5).join(", ") + (names.length > 5 ? ", ..." : "");
    const why = some === "" ? "the gateway is starting" : `servers are still connecting (${some})`;
    const message = `Nobody has this name yet, and ${why}: try again.`;
    return toAnswer(new GatewayError("upstream_error", message));
  }
}

function toAnswer(reason: unknown): Fault {
  return { ...toFault(toGatewayError(reason)), status: 200 };
}
