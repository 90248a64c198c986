import {
  type Call,
  GatewayError,
  type Json,
  type Peer,
  type Server,
  toGatewayError,
} from "propylon";
import { FairQuota } from "propylon/kit";
import {
  keepError,
  restoreError,
  restorePrincipal,
  toolsOf,
  tooManyQuestions,
  WITHDRAWN_QUESTION,
} from "propylon/internal";
import { CoalescingQueue } from "./coalescing-queue.ts";
import { type CallMessage, type RelayQuestion, type RelayedCall, toText } from "./relay.ts";

/** Calls of other replicas that run here at a time: of all servers, and of one principal. */
const MAX_CALLS = 500;
const MAX_OF_ONE = 250;

type CallQuestion = Extract<RelayQuestion, { verb: "call" }>;
type AnswerQuestion = Extract<RelayQuestion, { verb: "answer" }>;

/** Calls that other replicas have run here, because this one runs their server. */
export class RelayedCalls {
  readonly #open = new Map<string, RelayedPeer>();
  readonly #shares = new FairQuota();

  /** Runs a call; what comes of it, to its answer or its error. @throws {GatewayError} `rate_limited` for one too many */
  async *run(
    question: CallQuestion,
    server: Server,
    signal: AbortSignal,
  ): AsyncIterable<CallMessage> {
    const { id, task } = question;
    const principal = restorePrincipal(question.call.principal);
    if (this.#open.size >= MAX_CALLS || this.#shares.of(principal.ref) >= MAX_OF_ONE) throw busy();
    const queue = new CoalescingQueue<CallMessage>();
    const peer = new RelayedPeer(question.call, queue);
    this.#open.set(id, peer);
    this.#shares.add(principal.ref);
    try {
      const call = toCall(question.call, { server, peer, queue, signal });
      const answer = task === undefined ? server.request(call) : server.resume!(call, task);
      answer.then(
        (given) => queue.end({ answer: toText(given) }),
        (thrown: unknown) => queue.end({ error: keepError(toGatewayError(thrown)) }),
      );
      yield* queue.read();
    } finally {
      this.#open.delete(id);
      this.#shares.remove(principal.ref);
      peer.close();
    }
  }

  /** What a client says to a question of a call that runs here. */
  answer({ id, key, result, error }: AnswerQuestion): void {
    this.#open.get(id)?.settle(key, error ? restoreError(error) : (result ?? {}));
  }
}

/** Counted where the call came from, as every refused call is. */
function busy(): GatewayError {
  return new GatewayError(
    "rate_limited",
    "The replica that runs the server has too many calls of other replicas.",
    { hint: "Make the call again in a moment.", headers: { "retry-after": "1" } },
  );
}

interface CallParts {
  readonly server: Server;
  readonly peer: Peer;
  readonly queue: CoalescingQueue<CallMessage>;
  readonly signal: AbortSignal;
}

function toCall(relayed: RelayedCall, { server, peer, queue, signal }: CallParts): Call {
  const { id, method, source, endpoint, name, args, params, meta, timeout, reports } = relayed;
  return {
    id,
    method,
    source,
    endpoint,
    name,
    args,
    params,
    meta,
    timeout,
    signal,
    peer,
    server: server.name,
    tool: method === "tools/call" ? toolsOf(server.catalogue).get(name) : undefined,
    principal: restorePrincipal(relayed.principal),
    progress: reports ? (progress) => queue.push({ progress }, "progress") : undefined,
  };
}

/** The client of a call, at another replica. */
class RelayedPeer implements Peer {
  readonly key: string;
  readonly era: Peer["era"];
  readonly capabilities: Json;
  readonly logLevel: string | undefined;
  readonly keepTask?: (id: string) => Promise<void>;
  readonly #queue: CoalescingQueue<CallMessage>;
  readonly #asked = new Map<string, { resolve(result: Json): void; reject(error: Error): void }>();
  #count = 0;

  constructor({ peer, keepsTask }: RelayedCall, queue: CoalescingQueue<CallMessage>) {
    this.key = peer.key;
    this.era = peer.era;
    this.capabilities = peer.capabilities;
    this.logLevel = peer.logLevel;
    this.#queue = queue;
    if (keepsTask)
      this.keepTask = (task) =>
        this.#wait((key) => ({ keep: { key, task } })).then(
          () => {},
          () => {},
        );
  }

  ask(method: string, params: Json | undefined, signal?: AbortSignal): Promise<Json> {
    return this.#wait((key) => ({ ask: { key, method, params } }), signal);
  }

  tell(method: string, params: Json | undefined): void {
    this.#queue.push({ tell: { method, params } });
  }

  settle(key: string, outcome: Json | GatewayError): void {
    const asked = this.#asked.get(key);
    this.#asked.delete(key);
    if (outcome instanceof Error) asked?.reject(outcome);
    else asked?.resolve(outcome);
  }

  /** Nobody answers any more. */
  close(): void {
    for (const key of this.#asked.keys())
      this.settle(key, new GatewayError("cancelled", "The call is over."));
  }

  #wait(toMessage: (key: string) => CallMessage, signal?: AbortSignal): Promise<Json> {
    const refusal = tooManyQuestions(this.#asked.size);
    if (refusal) return Promise.reject(refusal);
    if (signal?.aborted) return Promise.reject(WITHDRAWN_QUESTION);
    return new Promise((resolve, reject) => {
      const key = String(++this.#count);
      this.#asked.set(key, { resolve, reject });
      // What there is no room for would be waited for in vain.
      const isSent = this.#queue.push(toMessage(key));
      if (!isSent)
        this.settle(key, new GatewayError("unavailable", "The client reads too slowly."));
      signal?.addEventListener("abort", () => this.#withdraw(key), { once: true });
    });
  }

  #withdraw(key: string): void {
    if (!this.#asked.has(key)) return;
    this.#queue.push({ withdraw: key });
    this.settle(key, WITHDRAWN_QUESTION);
  }
}
