import type { GatewayDescription } from "./description.ts";
import type { GatewayConfig } from "../config/schema.ts";
import type { ConfigEdit } from "../config/write.ts";
import type { Changes, ReloadReport } from "./hooks.ts";
import type { ServerStatus } from "../server/server.ts";

/** What a reload would do, found out by preparing it and taking it back. Names are sorted. */
export interface ReloadPlan {
  readonly plugins: Changes;
  readonly servers: Changes;
  /** Settings that only a restart would apply, and plugins whose package was installed anew, as config paths. */
  readonly restartRequired: readonly string[];
}

/**
 * The running gateway as those see it who run it: what a management plugin stands on. One change is made at a time, whoever
 * asks for it: an edit, a reload and a saved file wait for each other.
 */
export interface Control {
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
  /** All plugins' metrics as one Prometheus text page. */
  metrics(): Promise<string>;
  /**
   * The config in force, with every secret masked, and everything that came from a variable; but for `name`, `publicUrl`, `host`
   * and `port` of listeners and `timeouts`, which plugins work with.
   */
  effectiveConfig(): unknown;
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
   * @throws {GatewayError} `no_config_mode` without a file that can be edited; `exists` when the file is not the one in
   * force: somebody saved it and it is not reloaded yet; `exists` and `not_found` for an edit whose `when` does not hold; `invalid` for a path that cannot be edited; `reload_failed` with the
   * place in the edited text; `io_error` when the file cannot be written
   */
  edit(edits: readonly ConfigEdit[]): Promise<ReloadReport>;
  /**
   * Drops a server's connection and makes a new one; resolves when that is known to work.
   * @throws {GatewayError} `not_found`; `reinit_failed` with the reason when it did not connect
   */
  reconnect(server: string): Promise<ServerStatus>;
}

/** How somebody is to be evicted. */
export interface EvictOptions {
  /** What becomes of calls in flight; default `cancel`: they end with `unauthorized` and the reason. */
  readonly inFlight?: "cancel" | "finish";
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
