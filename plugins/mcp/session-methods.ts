import type { Json } from "propylon";
import { SEVERITIES } from "propylon/kit";
import { settleAsk } from "./asks.ts";
import type { EndpointContext } from "./context.ts";
import type { Message } from "./client-message.ts";
import { invalid } from "./forward.ts";
import type { LogLevels } from "./log-levels.ts";
import type { Fault } from "./protocol.ts";
import { RPC } from "./protocol.ts";
import type { Session } from "./session.ts";
import type { ResourceWatchers } from "./resource-watchers.ts";

const METHOD_NOT_FOUND: Fault = {
  status: 200,
  code: RPC.methodNotFound,
  message: "Method not found",
};

/** What a legacy session does without a server: its answers are an empty result or a fault. */
export class SessionMethods {
  readonly #context: EndpointContext;
  readonly #subscriptions: ResourceWatchers<Session>;
  readonly #levels: LogLevels;

  constructor(
    context: EndpointContext,
    subscriptions: ResourceWatchers<Session>,
    levels: LogLevels,
  ) {
    this.#context = context;
    this.#subscriptions = subscriptions;
    this.#levels = levels;
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
        return this.#watch(params["uri"], (uri) => this.#subscriptions.add(session, uri));
      case "resources/unsubscribe":
        return this.#watch(params["uri"], (uri) => {
          this.#subscriptions.remove(session, uri);
          return undefined;
        });
      default:
        return METHOD_NOT_FOUND;
    }
  }

  /** Takes notifications and responses: nothing goes back. */
  oneWay(session: Session, message: Exclude<Message, { kind: "request" }>): void {
    if (message.kind === "response") return settleAsk(session, message);
    if (message.method === "notifications/cancelled") {
      const id = message.params?.["requestId"];
      session.calls.find((call) => call.id === id)?.cancel();
    } else if (message.method === "notifications/roots/list_changed") {
      for (const server of this.#context.views.base.servers) server.rootsChanged?.();
    }
  }

  #setLevel(session: Session, level: unknown): Fault | undefined {
    const index = SEVERITIES.indexOf(String(level));
    if (index < 0) return invalid(`params.level must be one of ${SEVERITIES.join(", ")}.`);
    this.#levels.change(session.logLevel, index);
    session.logLevel = index;
    return undefined;
  }

  #watch<T>(uri: unknown, act: (uri: string) => T): T | Fault {
    return typeof uri === "string"
      ? act(uri)
      : invalid("params.uri must be the URI of a resource.");
  }
}
