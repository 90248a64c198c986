import type { Call } from "./call.ts";
import type { Answer } from "./answer.ts";
import type { LeftOut } from "./left-out-entry.ts";
import type { Era, Json, Prompt, Resource, ResourceTemplate, Tool } from "../kit/types.ts";

/**
 * What a server offers, as one immutable snapshot; replaced as a whole when anything changes.
 *
 * @example const toolsOf = ({ tools }: Catalogue): string[] => tools.map(({ name }) => name);
 */
export interface Catalogue {
  readonly tools: readonly Tool[];
  readonly resources: readonly Resource[];
  readonly resourceTemplates: readonly ResourceTemplate[];
  readonly prompts: readonly Prompt[];
  /** MCP server capabilities as declared. */
  readonly capabilities: Json;
  /** The server's usage notes for models, if any. */
  readonly instructions?: string | undefined;
  /** `name`, `version`, ... of the server, if known. */
  readonly serverInfo?: Json | undefined;
  /** SHA-256 (hex) of the four lists; equal hash = nothing to rebuild. */
  readonly hash: string;
}

/**
 * Life of a server as seen from the gateway.
 *
 * @example const UNSETTLED: ReadonlySet<ServerState> = new Set(["idle", "connecting"]);
 */
export type ServerState =
  | "idle"
  | "connecting"
  | "ready"
  | "degraded"
  | "backoff"
  | "failed"
  | "closed";

/**
 * State with everything a person needs to understand it. Times are ISO 8601.
 *
 * @example const problemOf = ({ state, reason }: ServerStatus): string => `${state}: ${reason ?? "no reason"}`;
 */
export interface ServerStatus {
  readonly state: ServerState;
  /** Why it is in this state, as a sentence; always set unless `ready` or `idle`. */
  readonly reason?: string | undefined;
  /** When it entered this state, in ISO 8601. */
  readonly since: string;
  /** Since when it has not been ready, in ISO 8601, however often it was tried again; absent while it is ready. */
  readonly downSince?: string | undefined;
  readonly nextRetryAt?: string | undefined;
  readonly lastError?: string | undefined;
  /** Failed connection attempts in a row. */
  readonly attempts: number;
  readonly era?: Era | undefined;
  readonly protocolVersion?: string | undefined;
  /** `stdio`, `streamable-http`, `sse` or `local`; of a server of a plugin's type what the plugin says, e.g. `openapi`. */
  readonly transport: string;
  /** Process id of a stdio child, at the host of its {@link placement}. */
  readonly pid?: number | undefined;
  /** Where it runs, if one replica of the store runs it for all. */
  readonly placement?: ServerPlacement | undefined;
}

/**
 * Which replica of the store runs a server for all of them.
 *
 * @example const isRemote = ({ placement }: ServerStatus): boolean => placement?.here === false;
 */
export interface ServerPlacement {
  /** Id of the replica that runs it, as `store.replica`; `null` while none does. */
  readonly replica: string | null;
  /** Name of its machine or container; `null` while none runs it. */
  readonly host: string | null;
  /** Whether that is this gateway. */
  readonly here: boolean;
  /** Since when, in ISO 8601; `null` while none runs it. */
  readonly since: string | null;
  /** How often it moved from one replica to another. */
  readonly moves: number;
}

/**
 * How far a probe came: `transport` is the network (name, connection, TLS, redirect, no answer in time), `handshake` an answer that
 * is not MCP's, `auth` refused credentials, `list` a server that answers but whose lists could not be read, `slow` one that takes
 * long.
 *
 * @example const rung: ProbeRung = error.code === "unauthorized" ? "auth" : "transport";
 */
export type ProbeRung = "transport" | "handshake" | "auth" | "list" | "slow";

/**
 * A probe that was answered.
 *
 * @example const { latency }: ProbeReport = await server.probe!(AbortSignal.timeout(5_000));
 */
export interface ProbeReport {
  /** Milliseconds until the answer: with the connection, where one was made. */
  readonly latency: number;
  /** Era in which it was answered; absent for what does not speak MCP. */
  readonly era?: Era | undefined;
}

/**
 * What a server reports on its own, outside any call.
 *
 * @example server.on((event: ServerEvent) => event.type === "changed" && seen.push(...event.lists));
 */
export type ServerEvent =
  | { readonly type: "state"; readonly status: ServerStatus }
  /** The catalogue was replaced; `lists` names the lists whose content differs. */
  | { readonly type: "changed"; readonly lists: readonly ("tools" | "resources" | "prompts")[] }
  /**
   * A subscribed resource was updated (`notifications/resources/updated` params). `principal` is the ref of the only one for whom,
   * where the server has a state for each; absent = everyone.
   */
  | { readonly type: "updated"; readonly params: Json; readonly principal?: string | undefined }
  /**
   * A log message that belongs to no call in flight (`notifications/message` params). `principal` is the ref of the only one who
   * may see it, because the call that it is about may have been theirs; absent = everyone.
   */
  | { readonly type: "log"; readonly params: Json; readonly principal?: string | undefined }
  /** Any other notification that belongs to no call. */
  | { readonly type: "notification"; readonly method: string; readonly params: Json | undefined };

/**
 * Something that owns tools, resources and prompts and answers calls for them: an upstream, or a plugin's own registrations.
 * The MCP faces know only this.
 *
 * @example const isUp = ({ status }: Server): boolean => status.state === "ready" || status.state === "degraded";
 */
export interface Server {
  readonly name: string;
  /** Whether it is shown only at endpoints that name it in `servers`; default false. For agents, which have endpoints of their own. */
  readonly isApart?: boolean;
  /** Longest run of a tool in milliseconds, for one that takes longer than `timeouts.default`; `undefined` = nothing special. */
  timeoutOf?(tool: string): number | undefined;
  readonly catalogue: Catalogue;
  readonly status: ServerStatus;
  /**
   * Whether {@link request} itself rejects as soon as `call.signal` aborts. Default false: the gateway sees to it, at the cost of a
   * promise and a listener for each call.
   */
  readonly watchesSignal?: boolean;
  /**
   * Whether its lists hold only what clients accept, because it leaves the rest out itself (`usableEntries` of `propylon/kit`).
   * Default false: the gateway looks through them.
   */
  readonly hasUsableLists?: boolean;
  /** What is left out of its lists, and what some clients refuse of them. Absent: nothing is known of it. */
  readonly leftOut?: readonly LeftOut[];
  /** Messages of the server thrown away so far: invalid, too deep, or nobody's. Absent: nothing is counted. */
  readonly dropped?: number;
  /**
   * Runs one call to its end. Rejects with a GatewayError for transport failures (`upstream_error`, `timeout`, `cancelled`,
   * `result_too_large`); a JSON-RPC error of the server is an Answer. Aborting `call.signal` rejects at once and cancels upstream.
   */
  request(call: Call): Promise<Answer>;
  /**
   * Waits for a task that the server began for an earlier call of a tool, as {@link request} does for a new one. Absent: its calls
   * never become tasks at the server.
   * @param call what is known of the call; its arguments are not
   * @param task the server's id of it
   */
  resume?(call: Call, task: string): Promise<Answer>;
  /** Asks for `updated` events of a resource; counted, so each subscribe needs one unsubscribe. Absent: there are none. */
  subscribe?(uri: string): Promise<void>;
  unsubscribe?(uri: string): Promise<void>;
  /**
   * Sets the least severe level that any client of one asker wants (legacy `logging/setLevel`); `undefined` = none. A server
   * may be shown at several endpoints, so the least severe of all askers counts. Absent: it logs nothing to clients, or
   * asks each call's `peer`.
   */
  setLogLevel?(level: string | undefined, asker: object): void;
  /** Tells the server that a client's roots changed. Absent: it has none, or asks a call's `peer`. */
  rootsChanged?(): void;
  /** Drops the connection and makes a new one; resolves when the outcome is known, good or bad. Absent: there is none to make. */
  reconnect?(): Promise<void>;
  /**
   * Asks the server whether it is there, apart from the calls: over HTTP with `initialize` on a connection of its own, whose
   * session is ended afterwards, or `server/discover`; a child is pinged. Spends nothing, changes nothing. One at
   * a time; a further one waits. Absent: there is nothing to ask, `status` says all.
   * @param signal ends the wait; its reason is what the probe rejects with
   * @throws {GatewayError} whose `data.failed` is a {@link ProbeRung} and whose message quotes neither the server nor a credential
   */
  probe?(signal: AbortSignal): Promise<ProbeReport>;
  /** Longest that it takes to be ready once it is started, or to say why it is not, in milliseconds. Absent: 10 s. */
  readonly patience?: number;
  /** The last lines that its child wrote to stderr, oldest first; for operators, since they may hold anything. Absent: it has no child. */
  tail?(lines: number): readonly string[];
  /** Registers a listener; the return value removes it. */
  on(listener: (event: ServerEvent) => void): () => void;
}

/**
 * An empty snapshot, for a server that never answered.
 *
 * @example
 * get catalogue(): Catalogue {
 *   return this.#latest?.catalogue ?? EMPTY_CATALOGUE;
 * }
 */
export const EMPTY_CATALOGUE: Catalogue = {
  tools: [],
  resources: [],
  resourceTemplates: [],
  prompts: [],
  capabilities: {},
  hash: "",
};
