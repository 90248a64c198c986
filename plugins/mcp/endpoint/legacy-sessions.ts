import type { IncomingMessage, ServerResponse } from "node:http";
import { type Json, type Principal, toGatewayError } from "propylon";
import { isObject } from "propylon/kit";
import type { RpcId } from "propylon/internal";
import { type Request, headerValue } from "../message/client-message.ts";
import type { EndpointContext } from "../view/context.ts";
import type { EndpointState } from "./endpoint-state.ts";
import { Greetings } from "./greetings.ts";
import { invalid } from "../view/forward.ts";
import { LEGACY_CLIENT_VERSIONS, toFault } from "../message/protocol.ts";
import { type Reply, sendEmpty, sendFault } from "../message/reply.ts";
import { MAX_CAPABILITIES, type Session, sessionKey } from "../session/session.ts";
import { SessionLookup } from "../session/session-lookup.ts";
import { sessionFault } from "./session-methods.ts";
import { changesSince, type SessionRecord, toldLists } from "../session/session-record.ts";
import { faultPieces } from "../message/stream.ts";
import type { View } from "../view/view.ts";

/** A request within a session. */
export interface SessionRequest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly principal: Principal;
  /** Of its JSON-RPC message, for a refusal. */
  readonly id: RpcId | null;
}

/** A session that a client wants opened. */
interface Opening {
  readonly request: Request;
  readonly res: ServerResponse;
  readonly principal: Principal;
  readonly reply: Reply;
}

/** Opens, finds and ends the sessions of clients. */
export class LegacySessions {
  readonly #context: EndpointContext;
  readonly #live: EndpointState;
  readonly #greetings: Greetings;
  readonly #lookup = new SessionLookup((id, principal) => this.#reopen(id, principal));

  constructor(context: EndpointContext, live: EndpointState) {
    this.#context = context;
    this.#live = live;
    this.#greetings = new Greetings(context.host);
  }

  /** Does work within the session that a request names, at once where it is open; refuses the request when there is none. */
  use(request: SessionRequest, work: (session: Session) => void): void {
    const given = headerValue(request.req.headers["mcp-session-id"]);
    const looking = given === undefined ? undefined : this.#look(given, request.principal);
    if (looking === undefined) return this.#use(given, request, work);
    looking
      .then(() => this.#useLate(given, request, work))
      .catch((error: unknown) => this.refuse(request, error));
  }

  /** Opens a session; where sessions are kept it is in the store before its client knows of it. */
  initialize(request: Request, res: ServerResponse, principal: Principal, reply: Reply): void {
    const opening = { request, res, principal, reply };
    const fail = (thrown: unknown): void => {
      const error = toGatewayError(thrown);
      reply.end(faultPieces(toFault(error), request.id), error.status, error.headers);
    };
    // At once where nothing has to be waited for: a promise costs more than the session.
    try {
      if (this.#context.settling || this.#live.store)
        this.#initializeLate(opening).catch((error: unknown) => fail(error));
      else this.#initialize(opening);
    } catch (thrown) {
      fail(thrown);
    }
  }

  /** Ends a session; one that is kept is gone from the store before its client is told. */
  end(session: Session, request: SessionRequest): void {
    const { sessions, store } = this.#live;
    const finish = (): void => {
      sessions.delete(session);
      sendEmpty(request.res, 200);
    };
    if (store === undefined) return finish();
    store
      .delete(session)
      .then(finish)
      .catch((error: unknown) => this.refuse(request, error));
  }

  #use(
    given: string | undefined,
    { req, res, principal, id }: SessionRequest,
    work: (session: Session) => void,
  ): void {
    const version = headerValue(req.headers["mcp-protocol-version"]);
    const session =
      given === undefined ? undefined : this.#live.sessions.find(given, principal.ref);
    if (
      session === undefined ||
      (version !== undefined && !LEGACY_CLIENT_VERSIONS.includes(version))
    )
      return sendFault(res, sessionFault(given, session, version), id);
    session.viewer = principal;
    work(session);
  }

  /** The same after a wait: client, endpoint and credential may be gone. */
  #useLate(
    given: string | undefined,
    request: SessionRequest,
    work: (session: Session) => void,
  ): void {
    if (request.res.destroyed) return;
    const fault = this.#context.faultAfterWait(request.principal);
    if (fault) sendFault(request.res, fault, request.id);
    else this.#use(given, request, work);
  }

  /** Looks in the store for a session that is not open. */
  #look(id: string, principal: Principal): Promise<void> | undefined {
    const { store, sessions } = this.#live;
    return store === undefined || sessions.has(id) ? undefined : this.#lookup.look(id, principal);
  }

  /** Opens a session as it was in another process. */
  async #reopen(id: string, principal: Principal): Promise<void> {
    const entry = await this.#live.store!.read(sessionKey(id));
    // Somebody else's looks like none.
    if (entry?.value.principal !== principal.ref) return;
    // A client is told what differs from what it knew, and not that its servers have yet to connect.
    await this.#context.settling;
    if (this.#context.faultAfterWait(principal)) return;
    const { version, capabilities } = entry.value;
    const session = this.#live.sessions.create(principal.ref, version, capabilities, id);
    if (session === undefined) return;
    session.restoredAt = Date.now();
    this.#restore(session, entry.value, this.#open(session, principal));
    this.#live.store!.adopt(session, entry);
  }

  #restore(session: Session, record: SessionRecord, view: View): void {
    const told = toldLists(record);
    if (this.#context.host.store.shared) session.told = told;
    session.changed = changesSince(told, view);
    this.#live.setWishes(session, record);
  }

  #initialize(opening: Opening): void {
    const session = this.#create(opening);
    if (session) this.#greet(session, opening);
  }

  async #initializeLate(opening: Opening): Promise<void> {
    const { request, res, principal, reply } = opening;
    if (!readGreeting(opening)) return;
    // What the servers can do is only known once they have answered.
    await this.#context.settling;
    const session = res.destroyed ? undefined : this.#create(opening);
    if (session === undefined) return;
    if (this.#live.store) await this.#keep(session, principal);
    const fault = this.#context.faultAfterWait(principal);
    if (fault) reply.end(faultPieces(fault, request.id), fault.status);
    else this.#greet(session, opening);
  }

  /** A session that is yet to be opened; `undefined` for what cannot be one, which is told. */
  #create(opening: Opening): Session | undefined {
    const { request, principal, reply } = opening;
    const greeting = readGreeting(opening);
    if (greeting === undefined) return undefined;
    const { version, capabilities } = greeting;
    const session = this.#live.sessions.create(principal.ref, version, capabilities);
    const most = `Declare capabilities of at most ${MAX_CAPABILITIES} characters of JSON.`;
    if (session === undefined) reply.end(faultPieces(invalid(most), request.id));
    return session;
  }

  #greet(session: Session, { request, principal, reply }: Opening): void {
    const view = this.#open(session, principal);
    const pieces = this.#greetings.encode(view, session.version, request.id);
    reply.end(pieces, 200, { "Mcp-Session-Id": session.id });
  }

  async #keep(session: Session, principal: Principal): Promise<void> {
    session.view = this.#context.views.of(principal);
    await this.#live.store!.save(session);
  }

  /** @returns what its client sees */
  #open(session: Session, principal: Principal): View {
    const { host, name, views } = this.#context;
    const view = views.of(principal);
    session.owner = principal;
    session.viewer = principal;
    session.view = view;
    this.#live.sessions.add(session);
    host.emit("session:open", name, session.key);
    return view;
  }

  /** Answers a request that failed before it became a call. */
  refuse({ res, id }: SessionRequest, thrown: unknown): void {
    const error = toGatewayError(thrown);
    if (error.code === "internal")
      this.#context.host.log.error({ err: error.cause ?? error }, "request failed");
    sendFault(res, toFault(error), id, error.headers);
  }
}

/** What a client says of itself; `undefined` where that cannot be read, which is told. */
function readGreeting({
  request: { id, params = {} },
  reply,
}: Opening): { readonly version: string; readonly capabilities: Json } | undefined {
  const { capabilities = {}, protocolVersion } = params;
  if (isObject(capabilities) && typeof protocolVersion === "string")
    return { version: versionFor(protocolVersion), capabilities };
  const words = "initialize needs protocolVersion and capabilities.";
  reply.end(faultPieces(invalid(words), id));
  return undefined;
}

function versionFor(asked: string): string {
  return LEGACY_CLIENT_VERSIONS.includes(asked) ? asked : LEGACY_CLIENT_VERSIONS[0]!;
}
