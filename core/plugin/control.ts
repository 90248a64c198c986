import type { Call } from "../call/call.ts";
import type { Timeouts } from "../call/pipeline.ts";
import type { CallHead, Principal } from "../kit/types.ts";
import type { GatewayDescription, GatewayWarning } from "./description.ts";
import type { DeclaredEventKind } from "./plugin-event.ts";
import type { GatewayConfig } from "../config/schema.ts";
import type { KeptPrincipal } from "../call/kept.ts";
import type { Listed } from "./filters.ts";
import type { RouteOptions } from "./route.ts";
import type { ConfigValue } from "../config/origin.ts";
import type { ConfigEdit } from "../config/write.ts";
import type { Changes, ReloadReport } from "./hooks.ts";
import type { Server, ServerStatus } from "../call/server.ts";

/**
 * What a reload would do, found out by preparing it and taking it back. Names are sorted.
 *
 * @example const { plugins, restartRequired }: ReloadPlan = await gateway.control.plan();
 */
export interface ReloadPlan {
  readonly plugins: Changes;
  readonly servers: Changes;
  /** Settings that only a restart would apply, and plugins whose package was installed anew, as config paths. */
  readonly restartRequired: readonly string[];
}

/**
 * The running gateway as a whole: what it serves, and what a management plugin stands on. One change is made at a time, whoever
 * asks for it: an edit, a reload and a saved file wait for each other.
 *
 * @example
 * const { control } = gateway;
 * const isReady = (name: string): boolean => control.servers.get(name)?.status.state === "ready";
 */
export interface Control {
  /** Every server by name, upstreams and those of plugins alike; live. */
  readonly servers: ReadonlyMap<string, Server>;
  /** Absolute path of the config file; `undefined` when the gateway was made from an object. */
  readonly configFile: string | undefined;
  /**
   * Whether the gateway is only set up to be looked at, as by `propylon check`: nothing is to be written, locked or announced,
   * since another may be running.
   */
  readonly dryRun: boolean;
  /** Version of the package. */
  readonly version: string;
  /** What the config says until a restart, whatever is reloaded: how the gateway is called, and `limits`. */
  readonly settings: Pick<GatewayConfig, "name" | "version" | "limits">;
  /** Counts applied configs, from 1. */
  readonly generation: number;
  /** What runs, as data. */
  describe(): GatewayDescription;
  /** What works but should not stay so. All checks of plugins are asked for it; a check that asks for it meanwhile gets none. */
  warnings(): readonly GatewayWarning[];
  /** Those of {@link Control.describe}, without the rest. */
  readonly authenticators: GatewayDescription["authenticators"];
  /** Kinds of events that the plugins of the config in force declare. */
  readonly eventKinds: readonly DeclaredEventKind[];
  /**
   * Somebody whom a store kept, with the rights of now: the role that their key has by now. Where an authenticator cannot tell that
   * without the credential (tokens), they have the rights of then until their `expiresAt`.
   *
   * @returns `undefined` for whoever would not be let in any more: the key or the authenticator is gone, or the token has expired
   */
  renew(record: KeptPrincipal): Principal | undefined;
  /** Why somebody may not use a route of this policy; `undefined` for whoever may. For pages that show what can be done. */
  refusal(
    principal: Principal,
    policy: Pick<RouteOptions, "access" | "mutates" | "management">,
  ): "role" | "read_only" | undefined;
  /** Whether every plugin's filter shows something to a principal, for faces that a plugin brings. */
  shows(item: Listed, principal: Principal): boolean;
  /**
   * Whether something is there at all for a principal, as filters decide that look at principals, for faces whose requests name
   * things: what is not there is answered like a name that nobody has. `gateway.call` asks it by itself.
   */
  exists(item: Listed, principal: Principal): boolean;
  /** Whether the config lets a tool of a server out (`servers.<name>.tools`); what it does not let out is nobody's to call. */
  exposes(server: string, tool: string): boolean;
  /** What a tool of a server is called at each MCP endpoint at which a principal may find it. */
  endpointNames(
    server: string,
    tool: string,
    principal: Principal,
  ): readonly { readonly endpoint: string; readonly name: string }[];
  /** What is set about how long a call may run, for a rule of the stage `deadline`; always of the config in force. */
  timeouts(call: Pick<Call, "method" | "server" | "name">): Timeouts;
  /** All plugins' metrics as one Prometheus text page. */
  metrics(): Promise<string>;
  /**
   * The config in force, with every secret masked, and everything that came from a variable; but for `name`, `publicUrl`, `host`
   * and `port` of listeners and `timeouts`, which plugins work with.
   */
  effectiveConfig(): unknown;
  /**
   * Where something of the config in force stands, as `gateway.yaml:7:5`; the path alone where no file has it. A plugin's options are
   * found below `["plugins", <its key>]`, also those of a section. A reload that moves lines and nothing else changes it.
   */
  placeOf(path: readonly (string | number)[]): string;
  /** The `servers` entry of a name as it is in force, with every secret masked. */
  serverConfig(name: string): unknown;
  /**
   * Reads the config file again and applies it. One that is in force already is not applied again; the report says so.
   * @throws {GatewayError} `no_config` without a file, `reload_failed` with the place in the file; the old config
   * serves on
   */
  reload(): Promise<ReloadReport>;
  /**
   * Reads the config file and says what applying it would change: it is prepared as for a reload, with plugins that changed set
   * up, and taken back. Nothing is opened, connected or started.
   * @throws {GatewayError} as {@link Control.reload}
   */
  plan(): Promise<ReloadPlan>;
  /**
   * Edits the config file and applies it. The file is written last: when the result cannot be activated or the file cannot be
   * written, both stay as they were, byte for byte, and the old config serves on. Paths are those of the config in force; an
   * entry of `servers` is edited where the file has it, be it `servers` or `mcpServers`.
   * @param expected the {@link Control.configVersion} that the edit was made for; default: any
   * @throws {GatewayError} `no_config_mode` without a file that can be edited; `exists` when another config is in force than expected; `exists` when the file is not the one in
   * force: somebody saved it and it is not reloaded yet; `exists` and `not_found` for an edit whose `when` does not hold; `invalid` for a path that cannot be edited; `reload_failed` with the
   * place in the edited text; `io_error` when the file cannot be written
   */
  edit(edits: readonly ConfigEdit[], expected?: string): Promise<ReloadReport>;
  /**
   * Says what an edit would change, as {@link Control.plan} does; the file stays as it is.
   * @throws {GatewayError} as {@link Control.edit}
   */
  checkEdit(edits: readonly ConfigEdit[]): Promise<ReloadPlan>;
  /** Names the config in force; differs after every change. For `expected` of an edit that was made for it. */
  readonly configVersion: string;
  /** Every value of the config in force with where it comes from, masked as {@link Control.effectiveConfig} is. */
  configValues(): readonly ConfigValue[];
  /**
   * Drops a server's connection and makes a new one; resolves when that is known to work.
   * @throws {GatewayError} `not_found`; `reinit_failed` with the reason when it did not connect
   */
  reconnect(server: string): Promise<ServerStatus>;
  /** Every call in flight in this process, whoever made it, oldest first. */
  calls(): readonly RunningCall[];
  /**
   * Ends a call in flight: its server is told, and its caller gets `cancelled` with the reason.
   * @returns whether it was in flight
   */
  cancel(call: string, reason: string): boolean;
  /**
   * The last lines that the child of a server wrote to stderr, oldest first, each cut at 2,000 characters, with secrets masked;
   * also those of children before it. `undefined` for a server without a child.
   * @param lines how many, at most
   * @throws {GatewayError} `not_found`
   */
  tail(server: string, lines: number): readonly string[] | undefined;
  /** Ends what principals have open, because a right was taken away; as {@link Gateway.evict}. */
  evict(match: (principal: Principal) => boolean, reason: string, options?: EvictOptions): Evicted;
}

/**
 * A call in flight.
 *
 * @example const slow = gateway.control.calls().filter(({ ms }: RunningCall) => ms > 60_000);
 */
export interface RunningCall extends CallHead {
  /** ISO 8601; `null` in a gateway without a plugin that joins the pipeline: nobody looks at the clock for it there. */
  readonly startedAt: string | null;
  /** Milliseconds since. */
  readonly ms: number | null;
  /** The same instant as `performance.now()`, which no change of the clock moves; else 0. */
  readonly started: number;
}

/** How somebody is to be evicted. */
export interface EvictOptions {
  /** What becomes of calls in flight; default `cancel`: they end with `unauthorized` and the reason. */
  readonly inFlight?: "cancel" | "finish";
  /**
   * Whether requests that were let in before begin nothing any more, however slow their bodies come; default false. Only for
   * principals of an authenticator that makes one for each request: what it made once would be refused for five minutes.
   */
  readonly withdraw?: boolean;
}

/** How much an eviction ended. */
export interface Evicted {
  /** Legacy MCP sessions. */
  readonly sessions: number;
  /** Event streams and WebSockets, on every face. */
  readonly streams: number;
  /** Calls in flight. */
  readonly calls: number;
}
