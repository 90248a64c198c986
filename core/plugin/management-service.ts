import type { Place } from "../kit/errors.ts";
import type { CallHead, Principal } from "../kit/types.ts";
import type { ServerStatus } from "../call/server.ts";
import type { ConfigPath } from "../config/issue.ts";
import type { ConfigEdit } from "../config/edit.ts";
import type { GatewayWarning } from "./description.ts";
import type { Changes, ReloadReport } from "./hooks.ts";
import { defineService, type Service } from "../kit/service.ts";

/**
 * What a reload would do, found out by preparing it and taking it back. Names are sorted.
 *
 * @example const { plugins, restartRequired }: ReloadPlan = await gateway.services.management.plan();
 */
export interface ReloadPlan {
  readonly plugins: Changes;
  readonly servers: Changes;
  /** Settings that only a restart would apply, and plugins whose package was installed again, as config paths. */
  readonly restartRequired: readonly string[];
}

/**
 * The power over the running gateway, and what only those who manage it look at. A plugin has it by `inject`, so
 * `propylon check --explain management` tells who has it. One change is made at a time, no matter who asks for it: an edit, a reload
 * and a saved file wait for each other.
 *
 * @example
 * definePlugin({
 *   name: "nightly",
 *   inject: { management: Management },
 *   setup(gateway) {
 *     gateway.onStart(() => {
 *       const timer = setInterval(() => void gateway.services.management.reload(), DAY);
 *       return () => clearInterval(timer);
 *     });
 *   },
 * });
 */
export interface Management {
  /** Absolute path of the config file; `undefined` when the gateway was made from an object. */
  readonly configFile: string | undefined;
  /** What works but should not stay so. All checks of plugins are asked for it; a check that asks for it meanwhile gets none. */
  warnings(): readonly GatewayWarning[];
  /** All plugins' metrics as one Prometheus text page, those of all workers together. */
  metrics(): Promise<string>;
  /** What a tool of a server is called at each MCP endpoint at which a principal may find it. */
  endpointNames(
    server: string,
    tool: string,
    principal: Principal,
  ): readonly { readonly endpoint: string; readonly name: string }[];
  /** Names the config in force; differs after every change. For `expected` of an edit that was made for it. */
  readonly configVersion: string;
  /** Every value of the config in force with where it comes from, masked as {@link GatewayInfo.effectiveConfig} is. */
  configValues(): readonly ConfigValue[];
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
   * @throws {GatewayError} as {@link Management.reload}
   */
  plan(): Promise<ReloadPlan>;
  /**
   * Edits the config file and applies it. The file is written last: when the result cannot be activated or the file cannot be
   * written, both stay as they were, byte for byte, and the old config serves on. Paths are those of the config in force; an
   * entry of `servers` is edited where the file has it, in `servers` or `mcpServers`.
   * @param expected the {@link Management.configVersion} that the edit was made for; default: any
   * @throws {GatewayError} `no_config_mode` without a file that can be edited; `exists` when another config is in force than expected; `exists` when the file is not the one in
   * force: somebody saved it and it is not reloaded yet; `exists` and `not_found` for an edit whose `when` does not hold; `invalid` for a path that cannot be edited; `reload_failed` with the
   * place in the edited text; `io_error` when the file cannot be written
   */
  edit(edits: readonly ConfigEdit[], expected?: string): Promise<ReloadReport>;
  /**
   * Says what an edit would change, as {@link Management.plan} does; the file stays as it is.
   * @throws {GatewayError} as {@link Management.edit}
   */
  checkEdit(edits: readonly ConfigEdit[]): Promise<ReloadPlan>;
  /**
   * Drops a server's connection and makes a new one; resolves when that is known to work.
   * @throws {GatewayError} `not_found`; `reinit_failed` with the reason when it did not connect
   */
  reconnect(server: string): Promise<ServerStatus>;
  /** Every call in flight in this process, of all principals, oldest first. */
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
  /** Ends what principals have open, because a right was withdrawn; as {@link Gateway.evict}. */
  evict(match: (principal: Principal) => boolean, reason: string, options?: EvictOptions): Evicted;
}

/** The service that every gateway has; see the interface. */
export const Management: Service<Management> = defineService("management");

/**
 * A call in flight.
 *
 * @example const slow = management.calls().filter(({ ms }: RunningCall) => ms > 60_000);
 */
export interface RunningCall extends CallHead {
  /** ISO 8601; `null` in a gateway without a plugin that joins the pipeline: nobody looks at the clock for it there. */
  readonly startedAt: string | null;
  /** Milliseconds since. */
  readonly ms: number | null;
  /** The same instant as `performance.now()`, which no change of the clock moves; else 0. */
  readonly started: number;
}

/**
 * A value of the config in force, and where it comes from.
 *
 * @example const written = (await values).filter(({ from }: ConfigValue) => from === "file");
 */
export interface ConfigValue {
  readonly path: ConfigPath;
  /** Masked where it is, or may hold, a secret. An empty list or map counts as a value. */
  readonly value: unknown;
  /** A file of the config, a default, or what a plugin added. */
  readonly from: "file" | "default" | "plugin";
  /** The layer that it comes from; without line and column for code. `null` for what nobody wrote. */
  readonly place: Pick<Place, "file" | "line" | "column"> | null;
}

/** How somebody is to be evicted. */
export interface EvictOptions {
  /** What happens to calls in flight; default `cancel`: they end with `unauthorized` and the reason. */
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
  /** Event streams and WebSockets, on every interface. */
  readonly streams: number;
  /** Calls in flight. */
  readonly calls: number;
}
