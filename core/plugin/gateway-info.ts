import type { Call } from "../call/call.ts";
import type { KeptPrincipal } from "../kit/kept.ts";
import type { Timeouts } from "../call/pipeline.ts";
import type { Server } from "../call/server.ts";
import type { GatewayConfig } from "../config/schema.ts";
import type { Principal } from "../kit/types.ts";
import type { GatewayDescription } from "./description.ts";
import type { Listed } from "./filters.ts";
import type { RouteOptions } from "./route.ts";

/**
 * What the running gateway is, for every plugin: it changes nothing. What changes something is {@link Management}.
 *
 * @example
 * const { info } = gateway;
 * const isReady = (name: string): boolean => info.servers.get(name)?.status.state === "ready";
 */
export interface GatewayInfo {
  /** Every server by name, upstreams and those of plugins alike; live. */
  readonly servers: ReadonlyMap<string, Server>;
  /**
   * Whether the gateway is only set up to be looked at, as by `propylon check`: nothing is to be written, locked or announced,
   * since another may be running.
   */
  readonly dryRun: boolean;
  /** What the config says until a restart, whatever is reloaded: how the gateway is called, and `limits`. */
  readonly settings: Pick<GatewayConfig, "name" | "version" | "limits">;
  /** Counts applied configs, from 1. */
  readonly generation: number;
  /** What runs, as data. */
  describe(): GatewayDescription;
  /**
   * The config in force, with every secret masked, and everything that came from a variable, except for `name`, `publicUrl`, `host`
   * and `port` of listeners and `timeouts`, which plugins work with.
   */
  effectiveConfig(): unknown;
  /**
   * Somebody whom a store kept, with the rights of now: the role that their key has by now. Where an authenticator cannot tell that
   * without the credential (tokens), they have the rights of then until their `expiresAt`.
   *
   * @returns `undefined` for somebody who would not be let in any more: the key or the authenticator is gone, or the token has expired
   */
  renew(record: KeptPrincipal): Principal | undefined;
  /** Why somebody may not use a route of this policy; `undefined` for those who may. For pages that show what can be done. */
  refusal(
    principal: Principal,
    policy: Pick<RouteOptions, "access" | "mutates" | "management">,
  ): "role" | "read_only" | undefined;
  /** Whether every plugin's filter shows something to a principal, for faces that a plugin brings. */
  shows(item: Listed, principal: Principal): boolean;
  /**
   * Whether something is there at all for a principal, as filters decide that look at principals, for faces whose requests name
   * things: what is not there is answered like a name that nobody has. `gateway.call` asks it on its own.
   */
  exists(item: Listed, principal: Principal): boolean;
  /** Whether the config lets a tool of a server out (`servers.<name>.tools`); what it does not let out is nobody's to call. */
  exposes(server: string, tool: string): boolean;
  /** What is set about how long a call may run, for a rule of the stage `deadline`; always of the config in force. */
  timeouts(call: Pick<Call, "method" | "server" | "name">): Timeouts;
}
