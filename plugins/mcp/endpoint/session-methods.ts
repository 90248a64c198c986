import { type Json, toGatewayError } from "propylon";
import { SEVERITIES, severityOf } from "propylon/internal";
import { settleAsk } from "../call/asks.ts";
import type { EndpointContext } from "../view/context.ts";
import { type ClientMessage, isRpcId, isSameId } from "../message/client-message.ts";
import { invalid } from "../view/forward.ts";
import type { EndpointState } from "./endpoint-state.ts";
import { type Fault, RPC, LEGACY_CLIENT_VERSIONS, toFault } from "../message/protocol.ts";
import type { Session } from "../session/session.ts";

const METHOD_NOT_FOUND: Fault = {
  status: 200,
  code: RPC.methodNotFound,
  message: "Method not found",
};

/** What a legacy session does without a server: its answers are an empty result or a fault. */
export class SessionMethods {
  readonly #context: EndpointContext;
  readonly #live: Pick<EndpointState, "watchers" | "levels" | "store" | "remote">;

  constructor(
    context: EndpointContext,
    live: Pick<EndpointState, "watchers" | "levels" | "store" | "remote">,
  ) {
    this.#context = context;
    this.#live = live;
  }

  /** Serves a request; a promise only where a server is asked. */
  request(
    session: Session,
    method: string,
    params: Json,
  ): Fault | undefined | Promise<Fault | undefined> {
    switch (method) {
      case "ping":
        return undefined;
      case "logging/setLevel":
        return this.#setLevel(session, params["level"]);
      case "resources/subscribe":
        return this.#onUri(params["uri"], (uri) => this.#subscribe(session, uri));
      case "resources/unsubscribe":
        return this.#onUri(params["uri"], (uri) => {
          this.#live.watchers.remove(session, uri);
          return this.#keep(session);
        });
      default:
        return METHOD_NOT_FOUND;
    }
  }

  /**
   * Takes notifications and responses: nothing goes back. A promise where what they are about may be at another replica.
   * @throws {GatewayError} `unavailable`
   */
  oneWay(
    session: Session,
    message: Exclude<ClientMessage, { kind: "request" }>,
  ): Promise<void> | undefined {
    const { remote } = this.#live;
    if (message.kind === "response")
      return settleAsk(session, message) ? undefined : remote?.answer(session, message);
    if (message.method === "notifications/cancelled") {
      const id = message.params?.["requestId"];
      const call = session.calls.find((each) => isSameId(each.id, id));
      if (!call) return isRpcId(id) ? remote?.cancel(session, id) : undefined;
      call.cancel();
    } else if (message.method === "notifications/roots/list_changed") {
      for (const server of this.#context.views.base.servers) server.rootsChanged?.();
    }
    return undefined;
  }

  #setLevel(session: Session, level: unknown): Fault | undefined | Promise<Fault | undefined> {
    const index = severityOf(level);
    if (index < 0) return invalid(`params.level must be one of ${SEVERITIES.join(", ")}.`);
    const before = session.logLevel;
    this.#changeLevel(session, index);
    return this.#keep(session, () => this.#changeLevel(session, before));
  }

  #changeLevel(session: Session, index: number): void {
    this.#live.levels.change(session.logLevel, index);
    session.logLevel = index;
  }

  async #subscribe(session: Session, uri: string): Promise<Fault | undefined> {
    const { watchers } = this.#live;
    const isKnown = session.subscriptions?.has(uri);
    const fault = await watchers.add(session, uri);
    if (fault !== undefined || isKnown) return fault;
    return this.#keep(session, () => watchers.remove(session, uri));
  }

  /** Has a change of a session in the store before its client is told, where sessions are kept; undoes it where that fails. */
  #keep(session: Session, undo?: () => void): Promise<Fault | undefined> | undefined {
    return this.#live.store?.save(session).then(
      () => undefined,
      (error: unknown) => {
        undo?.();
        return { ...toFault(toGatewayError(error)), status: 200 };
      },
    );
  }

  #onUri<T>(uri: unknown, act: (uri: string) => T): T | Fault {
    return typeof uri === "string"
      ? act(uri)
      : invalid("params.uri must be the URI of a resource.");
  }
}

/**
 * For a session that ended, e.g. with the gateway's process. Clients tell it from other refusals: those of the Python SDK by this
 * code and these very words, which they also make of a 404 without a body, the others by the status.
 */
const SESSION_TERMINATED: Fault = {
  status: 404,
  code: RPC.invalidRequest,
  message: "Session terminated",
  data: { reason: "Session not found: send initialize again." },
};

/** Why a request has no session. */
export function sessionFault(
  given: string | undefined,
  session: Session | undefined,
  version: string | undefined,
): Fault {
  if (given === undefined) {
    return {
      status: 400,
      code: RPC.server,
      message: "The Mcp-Session-Id header is missing: send initialize first.",
    };
  }
  if (session === undefined) return SESSION_TERMINATED;
  return {
    status: 400,
    code: RPC.server,
    message: `Unsupported protocol version ${String(version).slice(0, 64)} (supported: ${LEGACY_CLIENT_VERSIONS.join(", ")}).`,
  };
}
