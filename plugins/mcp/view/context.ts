import { randomBytes } from "node:crypto";
import type { Principal } from "propylon";
import { Recent } from "propylon/kit";
import type { EndpointContent, EndpointHost } from "propylon/internal";
import { EarlyCalls, FirstConnect } from "./first-connect.ts";
import { KnownLists } from "./known-lists.ts";
import { Journals } from "../message/journal.ts";
import { closedFault, CREDENTIAL_GONE, type Fault } from "../message/protocol.ts";
import { RequestStates } from "./request-states.ts";
import { KeepAlive, type StreamSettings } from "../message/stream.ts";
import { View } from "./view.ts";
import { type TaskService, Tasks } from "propylon/plugins/tasks";

/** Most views of principals that are kept; one that was dropped is built again when it is asked for. */
const MAX_VIEWS = 1_000;

/** What an endpoint shows, and to whom. Without a filter that looks at principals it is one view for everybody. */
export class Views {
  static readonly EMPTY = new Views(View.NOTHING);

  /** What is shown before any filter looks at a principal. */
  readonly base: View;
  readonly #content: EndpointContent | undefined;
  readonly #known: KnownLists | undefined;
  readonly #byKey = new Recent<View>(MAX_VIEWS);

  constructor(base: View, content?: EndpointContent, known?: KnownLists) {
    this.base = base;
    this.#content = content;
    this.#known = known;
  }

  /** How many views of principals were built. */
  built = 0;

  /** Whether all see the same. */
  get isOne(): boolean {
    return this.#content?.byPrincipal === undefined;
  }

  /** What a principal sees, and so what it may call. */
  of(principal: Principal | undefined): View {
    const byPrincipal = this.#content?.byPrincipal;
    if (byPrincipal === undefined) return this.base;
    const key = principal && byPrincipal.viewOf(principal);
    if (principal === undefined || key === undefined) return View.NOTHING;
    const known = this.#byKey.get(key);
    if (known) return known;
    const view = new View(this.#content!, principal, this.#known);
    this.built++;
    this.#byKey.set(key, view);
    return view;
  }

  /** Forgets what was decided by principal: a filter has changed its answers, and the next request is to meet the new ones. */
  forget(): void {
    this.#byKey.clear();
  }
}

/** What all parts of one endpoint share. */
export class EndpointContext {
  readonly name: string;
  readonly host: EndpointHost;
  readonly streams: StreamSettings;
  /** What is shown at the moment, and to whom; every request reads it once. */
  views = Views.EMPTY;
  /** Whether the endpoint is gone; a request may still be on its way to it. */
  closed = false;
  /** Keeps what is sent in answer to calls of sessions. */
  readonly journals: Journals;
  readonly requestStates: RequestStates;
  readonly known = new KnownLists();
  readonly firstConnect = new FirstConnect(this.known);
  readonly early = new EarlyCalls(this);
  readonly #prefix = randomBytes(6).toString("base64url");
  #count = 0;

  constructor(name: string, host: EndpointHost) {
    this.name = name;
    this.host = host;
    this.journals = new Journals(host.store.shared ? host.store.replica : undefined);
    this.requestStates = new RequestStates(host.store);
    this.streams = {
      pulse: new KeepAlive(),
      queue: host.limits.streamQueue,
      onOverflow: (bytes) =>
        host.log.warn(
          { endpoint: name, bytes },
          "event stream closed: the client reads too slowly",
        ),
    };
  }

  /** What keeps tasks; absent without that plugin. */
  get tasks(): TaskService | undefined {
    return this.host.current.service(Tasks);
  }

  /** What a request for a list waits for; `undefined` = nothing. */
  get settling(): Promise<void> | undefined {
    return this.firstConnect.promise;
  }

  /** What is in the way of a request that waited; `undefined` when nothing is. */
  faultAfterWait(principal: Principal): Fault | undefined {
    if (this.closed) return closedFault(this.host.draining);
    return this.host.leases.isWithdrawn(principal) ? CREDENTIAL_GONE : undefined;
  }

  /** An id for a call, unique within the process. */
  nextCallId(): string {
    return `${this.#prefix}${(this.#count++).toString(36)}`;
  }
}
