import type { Access, RouteMethod } from "./route.ts";
import type { ServerStatus } from "../call/server.ts";

/**
 * Something that works but that the operator should know. Holds no secret.
 *
 * @example const warnings: readonly GatewayWarning[] = management.warnings();
 */
export interface GatewayWarning {
  /**
   * `open_listener`: reachable from other machines without authentication; `any_token`: tokens of others are taken too; `left_out`: an endpoint does not show something;
   * `unknown_name`: an option names a server, tool or key that does not exist; `lists`: a server offers what clients cannot use, or
   * some of them refuse; `plugin`: a plugin says so.
   */
  readonly code: "open_listener" | "any_token" | "left_out" | "lists" | "unknown_name" | "plugin";
  /** A sentence. */
  readonly message: string;
  /** The place in the config it is about, e.g. `["endpoints", "mcp"]`. */
  readonly path: readonly string[];
  /** What to do about it, as a sentence. */
  readonly hint: string;
}

/**
 * A warning that a check of a plugin gives.
 *
 * @example
 * const warning: PluginWarning = { message: "The key is a default.", path: ["plugins", "mine"], hint: "Set key." };
 * gateway.add(Checks, { name: "key", ask: () => (config.key === DEFAULT ? warning : undefined) });
 */
export type PluginWarning = Omit<GatewayWarning, "code">;

/**
 * What runs, as data: for a start-up summary, a status page, or a test.
 *
 * @example const urlsOf = ({ endpoints }: GatewayDescription): string[] => endpoints.map(({ url }) => url);
 */
export interface GatewayDescription {
  readonly name: string;
  readonly generation: number;
  readonly listeners: readonly {
    readonly name: string;
    readonly url: string;
    /** Whether it speaks TLS with a certificate of its own. */
    readonly tls: boolean;
  }[];
  readonly endpoints: readonly {
    readonly name: string;
    readonly url: string;
    readonly listener: string;
    /** Whether anyone who reaches the listener may use it. */
    readonly open: boolean;
    readonly servers: readonly string[];
  }[];
  readonly servers: readonly {
    readonly name: string;
    readonly status: ServerStatus;
    readonly tools: number;
    readonly resources: number;
    readonly prompts: number;
  }[];
  /** Who is asked who makes a request, in order; those of the config's `auth` have no plugin. Empty: everyone is let in. */
  readonly authenticators: readonly {
    readonly name: string;
    readonly plugin: string | undefined;
  }[];
  readonly plugins: readonly {
    readonly key: string;
    readonly name: string;
    readonly provides: string | undefined;
  }[];
  readonly routes: readonly {
    readonly plugin: string;
    readonly listener: string;
    readonly method: RouteMethod;
    readonly path: string;
    readonly access: Access;
    readonly mutates: boolean;
    /** Whether it belongs to the management of the gateway. */
    readonly management: boolean;
    /** Whether it answers without credentials. */
    readonly open: boolean;
    /** Set for a path that accepts WebSocket connections. */
    readonly socket?: true;
  }[];
  /** What nobody can change at present, whatever the role: routes of the management, or all; `null`: nothing is ruled out. */
  readonly readOnly:
    | (Omit<GatewayWarning, "code"> & { readonly scope: "everything" | "management" })
    | null;
  /** The processes of this machine that serve together, and which of them tells this; absent: it is alone. */
  readonly workers?: {
    readonly own: number;
    readonly all: readonly WorkerStatus[];
  };
}

/**
 * How a process is that serves together with others.
 *
 * @example const isComplete = description.workers?.all.every(({ state }: WorkerStatus) => state === "ready");
 */
export interface WorkerStatus {
  /** From 1; a worker that is started again keeps it. */
  readonly number: number;
  /** `null` between two lives. */
  readonly pid: number | null;
  readonly state: "starting" | "ready" | "ended";
  /** How often it was started again. */
  readonly restarts: number;
}
