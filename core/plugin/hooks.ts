import { GatewayError, type ErrorCode } from "../kit/errors.ts";
import type { GuessBound } from "./authentication.ts";
import type { Cut } from "../kit/backlog.ts";
import type { ServerStatus } from "../call/server.ts";
import type { Json, Principal } from "../kit/types.ts";
import type { PluginEvent } from "./plugin-event.ts";

/**
 * What one reload did. Names are sorted.
 *
 * @example gateway.hook("reload:done", ({ plugins }: ReloadReport) => log.info({ changed: plugins.changed }));
 */
export interface ReloadReport {
  /** Whether anything was applied; `false` when the config was in force already, and then `generation` stays. */
  readonly applied: boolean;
  /** Counts up with every applied config, from 1. */
  readonly generation: number;
  readonly at: string;
  readonly plugins: Changes;
  readonly servers: Changes;
  /** Settings that need a restart to take effect, and plugins whose package was installed again, as config paths. */
  readonly restartRequired: readonly string[];
}

/** Names by what happened to them. */
export interface Changes {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
  readonly unchanged: readonly string[];
}

/**
 * A request to a route that changes something, after it was answered or refused, or what a plugin said to the service `Audit`. It
 * holds no body.
 *
 * @example gateway.hook("mutation", ({ who, action, outcome }: Mutation) => trail.push({ who, action, outcome }));
 */
export interface Mutation {
  /** ISO 8601. */
  readonly at: string;
  /**
   * `ref` of the principal; `anonymous@<ip>` for one who did not say; `plugin:<name>` for what a plugin did on its own; `unverified
   * <ref>` for a call that a plugin made in the name of somebody whom no authenticator vouched for.
   */
  readonly who: string;
  /** Method and route pattern, e.g. `POST /_meta/servers/:server/enable`; `<plugin>:<action>` for what a plugin did. */
  readonly action: string;
  /** Parameters of the path, and what the route says beyond, e.g. the server that was added. */
  readonly target: Readonly<Record<string, string>>;
  readonly outcome: "ok" | "refused" | "failed";
  /** HTTP status of the answer; `null` for what a plugin did, which has none of its own. */
  readonly status: number | null;
  readonly error: ErrorCode | null;
  /** Id of the request or call, the same on every line about it; `null` for what a plugin did on its own. */
  readonly request: string | null;
  /** What else the plugin says, redacted and cut. */
  readonly details?: Json;
}

/** Longest value that is kept of what a change is about, in characters: it is the caller's text. */
const MAX_TARGET = 200;
/** Most values that are kept of it. */
export const MAX_TARGETS = 32;

/** A mutation as it is told: what it is about is cut, and no listener changes what the next one hears. */
export function sealMutation(mutation: Mutation): Mutation {
  const kept = Object.entries(mutation.target).slice(0, MAX_TARGETS);
  const target = Object.fromEntries(
    kept.map(([name, value]) => [name, value.slice(0, MAX_TARGET)]),
  );
  return Object.freeze({ ...mutation, target: Object.freeze(target) });
}

/** A shutdown, for listeners of `gateway:drain`. */
export interface Shutdown {
  /** Work that was accepted before goes on: it is waited for like a call in flight, at most for `timeouts.grace`. */
  readonly waitUntil: (work: Promise<unknown>) => void;
  /** Aborts when the grace time is over and something is still waited for. */
  readonly signal: AbortSignal;
}

/**
 * Hooks of the core. Only the core emits them: what they tell is known to be true.
 *
 * @example type Done = Parameters<CoreHooks["reload:done"]>[0]; // a ReloadReport
 */
export interface CoreHooks {
  /** All listeners are open and the first config is applied. */
  "gateway:ready": () => void;
  /** New work is being refused; calls in flight still run, and so does what a listener has waited for. */
  "gateway:drain": (shutdown: Shutdown) => void;
  /** A server changed its state. */
  "server:state": (name: string, status: ServerStatus) => void;
  /** A server's lists changed. */
  "server:catalogue": (name: string, lists: readonly ("tools" | "resources" | "prompts")[]) => void;
  /** A new configuration is serving. */
  "reload:done": (report: ReloadReport) => void;
  /** A new configuration was refused; the old one serves on. */
  "reload:failed": (error: GatewayError) => void;
  /** A legacy MCP session opened, or was found in the store after a restart; `id` is a non-secret digest. */
  "session:open": (endpoint: string, id: string) => void;
  /** A legacy MCP session ended, and why. */
  "session:close": (
    endpoint: string,
    id: string,
    reason: "deleted" | "idle" | "evicted" | "revoked" | "shutdown",
  ) => void;
  /** What matching principals have open ends, because a right was removed. What a plugin keeps for them has to go too. */
  "principal:evict": (match: (principal: Principal) => boolean) => void;
  /**
   * The stream of a legacy session was not taken over from another replica, because too many come from others at this moment: of its
   * principal, or in all.
   */
  "stream:refused": (endpoint: string, bound: "principal" | "total") => void;
  /** An answer was cut off, because its client did not read it. */
  "answer:cut": (cut: Cut) => void;
  /** A request was refused because too many credentials were wrong before it: of its address, or of tokens that begin like its own. */
  "auth:throttled": (by: GuessBound) => void;
  /** Somebody used, or tried to use, a route that changes something. */
  mutation: (mutation: Mutation) => void;
  /** A plugin told of something of a kind that it declares in `events`; the data is as the kind's schema says. */
  "plugin:event": (event: PluginEvent) => void;
  /** A line was written to the log: one JSON object without line break, redacted. Must not log itself. */
  "log:line": (line: string) => void;
}

/**
 * Notifications that plugins can observe with `gateway.hook(name, listener)`. Listeners cannot change, veto or fail what they
 * observe: a throw is logged. Plugins add their own by declaration merging:
 *
 * @example declare module "propylon" { interface GatewayHooks { "cache:hit": (key: string) => void } }
 */
// eslint-disable-next-line typescript/no-empty-object-type -- plugins merge theirs into it
export interface GatewayHooks extends CoreHooks {}

/**
 * A hook that plugins may emit: one of their own.
 *
 * @example
 * declare module "propylon" { interface GatewayHooks { "cache:hit": (key: string) => void } }
 * const hook: PluginHook = "cache:hit";
 */
export type PluginHook = Exclude<keyof GatewayHooks, keyof CoreHooks>;

const CORE_HOOKS: Readonly<Record<keyof CoreHooks, true>> = {
  "gateway:ready": true,
  "gateway:drain": true,
  "server:state": true,
  "server:catalogue": true,
  "reload:done": true,
  "reload:failed": true,
  "session:open": true,
  "session:close": true,
  "principal:evict": true,
  "stream:refused": true,
  "answer:cut": true,
  "auth:throttled": true,
  mutation: true,
  "plugin:event": true,
  "log:line": true,
};

/**
 * Keeps a plugin from telling others what only the core can know, e.g. a change that somebody never made.
 *
 * @throws {GatewayError} `invalid` for a hook of the core
 */
export function checkEmitted(plugin: string, hook: string): void {
  if (!Object.hasOwn(CORE_HOOKS, hook)) return;
  throw new GatewayError(
    "invalid",
    `Plugin "${plugin}" emits "${hook}", which only the gateway may.`,
    { hint: "Declare a hook of your own in GatewayHooks; the service Audit writes to the audit." },
  );
}
