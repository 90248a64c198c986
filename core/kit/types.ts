import type { Role } from "./roles.ts";
import type { ExactNumber } from "./exact-number.ts";

/**
 * A JSON object.
 *
 * @example const facts: Json = { id: "t1", tags: ["new"] };
 */
export type Json = Record<string, unknown>;

/**
 * A JSON-RPC request id; the type (string or number) is part of its identity. Some clients take theirs from a clock of nanoseconds,
 * which is beyond 2^53; as the key of a map it is its JSON.
 *
 * @example const waiting = new Map<string, (answer: Answer) => void>([[writeJson(id), resolve]]);
 */
export type RpcId = string | number | ExactNumber;

/**
 * The `error` member of a JSON-RPC response.
 *
 * @example
 * const refusal: RpcError = { code: -32602, message: "Unknown tool: x" };
 * const answer = Answer.error(refusal);
 */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/**
 * MCP protocol generation: `legacy` has `initialize` (up to 2025-11-25), `modern` is stateless (2026-07-28 on).
 *
 * @example const canResume = (era: Era | undefined): boolean => era === "legacy";
 */
export type Era = "legacy" | "modern";

/**
 * What is known about somebody who makes calls: what an authenticator answers, and what becomes a {@link Principal}.
 *
 * @example const ada: Identity = { id: "ada", kind: "user", roles: new Set(["caller"]) };
 */
export interface Identity {
  /** Stable, non-secret name within its kind: key name, token subject, agent name, or `anonymous`. For people to read; see {@link Principal.ref}. */
  readonly id: string;
  readonly kind: "anonymous" | "key" | "user" | "team" | "agent" | "service";
  readonly roles: ReadonlySet<Role>;
  /** Facts an authenticator adds for its own plugins (e.g. resolved libraries); never the credential. */
  readonly claims?: Json;
  /** When the credential ends, in milliseconds since 1970; absent = it does not expire. */
  readonly expiresAt?: number;
}

/**
 * Who makes a call.
 *
 * @example const isOwner = ({ ref }: Principal, owner: string): boolean => ref === owner;
 */
export interface Principal extends Identity {
  /**
   * `kind:id`, unique for a person: a key and a token subject may have one id. The only member by which two principals are
   * compared, and the owner of whatever is kept for one.
   */
  readonly ref: string;
}

/**
 * Marks a progress report whose values are meant literally. MCP demands values that increase and endpoints see to that; the source
 * of the agents' interface does not, and some clients read its literal 0 and 1/1.
 *
 * @example call.progress?.({ progress: 3, message: "as its source counts", [LITERAL_PROGRESS]: true });
 */
export const LITERAL_PROGRESS: unique symbol = Symbol("literal progress");

/**
 * One progress report of a running call (MCP `notifications/progress` without its token).
 *
 * @example
 * const half: Progress = { progress: 1, total: 2, message: "half of it" };
 * call.progress?.(half);
 */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
  /** Set: the values go out as they are, even where they do not increase. */
  readonly [LITERAL_PROGRESS]?: boolean;
  readonly [key: string]: unknown;
}

/**
 * A tool as it appears in `tools/list`, under the name its server gave it. Unknown members are kept.
 *
 * @example const isReadOnly = ({ annotations }: Tool): boolean => annotations?.["readOnlyHint"] === true;
 */
export interface Tool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: Json;
  readonly outputSchema?: Json;
  readonly annotations?: Json;
  readonly [key: string]: unknown;
}

/**
 * A resource as in `resources/list`.
 *
 * @example const hasText = ({ uri }: Resource): boolean => uri.endsWith(".txt");
 */
export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly [key: string]: unknown;
}

/**
 * A resource template as in `resources/templates/list`.
 *
 * @example const matches = ({ uriTemplate }: ResourceTemplate): boolean => uriTemplate.startsWith("build://");
 */
export interface ResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly [key: string]: unknown;
}

/**
 * A prompt as in `prompts/list`.
 *
 * @example const titles = catalogue.prompts.map((prompt: Prompt) => prompt["title"] ?? prompt.name);
 */
export interface Prompt {
  readonly name: string;
  readonly [key: string]: unknown;
}

/**
 * The methods that travel through the pipeline to the server that owns the thing named.
 *
 * @example const COUNTED: ReadonlySet<CallMethod> = new Set(["tools/call", "prompts/get"]);
 */
export type CallMethod = "tools/call" | "resources/read" | "prompts/get" | "completion/complete";

/**
 * Faces through which calls come in, by name; each plugin with a face of its own adds it.
 *
 * @example declare module "propylon/kit" { interface CallSources { mail: true } }
 */
export interface CallSources {
  mcp: true;
  http: true;
  /** A plugin calls, or the program around the gateway. */
  local: true;
}

/** Through which face a call came in. */
export type CallSource = keyof CallSources;

/**
 * The client side of a call: what the callee may send back while it works.
 * Peers of different clients are never equal, so nothing meant for one reaches another.
 *
 * @example
 * const answer = await call.peer.ask("elicitation/create", { message: "Really?", requestedSchema: { type: "object", properties: {} } });
 */
export interface Peer {
  /** Identifies the client conversation (session or single stateless request); unguessable. */
  readonly key: string;
  /** MCP era of the client; absent for any other client. */
  readonly era?: Era | undefined;
  /** MCP client capabilities that the client declared; `{}` when none. */
  readonly capabilities: Json;
  /** Least severe log level the client wants; `undefined` = wants no log messages for this call. */
  readonly logLevel?: string | undefined;
  /**
   * Sends a request to the client (`sampling/createMessage`, `elicitation/create`, `roots/list`) and resolves with its result.
   * @param signal withdraws the request: the client is told so where its era can be, and the promise rejects
   * @throws {GatewayError} `invalid` when the client lacks the capability; `cancelled` when it went away
   */
  ask(method: string, params: Json | undefined, signal?: AbortSignal): Promise<Json>;
  /**
   * The server works on this call as a task of its own: who keeps calls can ask for it again by this id, by `Server.resume`, when
   * the gateway has ended meanwhile. Resolves when that is stored, or nobody keeps it. Absent: nobody keeps it. Never rejects.
   */
  keepTask?(id: string): Promise<void>;
  /** Sends a notification that belongs to this call, e.g. `notifications/message`. Best effort, never throws. */
  tell(method: string, params: Json | undefined): void;
  /**
   * Whether the client reads more slowly than it is sent to. A callee that serves this call alone stops sending until
   * {@link whenClear}; one that serves others too goes on, and what is superseded by a later progress report gets lost.
   */
  readonly congested?: boolean;
  /** Calls back once when the client has read what was waiting, or is gone. */
  whenClear?(resume: () => void): void;
}

/** What is known of a call while it is in flight. */
export interface CallHead {
  readonly id: string;
  readonly method: CallMethod;
  readonly source: CallSource;
  readonly endpoint: string;
  readonly server: string;
  readonly name: string;
  readonly principal: Principal;
}
