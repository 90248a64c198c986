import type { OptionReference, OptionSelector, StoreAbility, StoreNeed } from "./definitions.ts";
import type { CommandDefinition } from "./command.ts";
import type { EndpointHost, EndpointServer } from "./endpoint-server.ts";
import type { PluginContext } from "./plugin-context.ts";
import type { Inject, Service } from "../kit/service.ts";
import type { OpenStore } from "../store/driver.ts";
import type { ZodType } from "zod";

/**
 * A plugin as written; see {@link definePlugin}.
 *
 * @example const greeter: PluginDefinition<{ greeting: string }> = { name: "greeter", config: options, setup };
 */
export interface PluginDefinition<C = unknown, I extends Inject = Inject, P = unknown> {
  /** Kebab-case; unique in a gateway. */
  readonly name: string;
  /** Strict zod schema of the options; default: no options. Validates before `setup`, completes YAML, documents itself. */
  readonly config?: ZodType<C>;
  /**
   * A key at the top of the config where the plugin's options stand, as if they stood in `plugins`; with `option` where one of them
   * stands. Whoever writes it uses the plugin, if that comes along with Propylon or is in `plugins`. Keys of the core and of
   * other plugins cannot be had.
   * @example section: "rooms"
   */
  readonly section?: string | { readonly key: string; readonly option: string };
  readonly inject?: I;
  /** The service that `setup` returns. */
  readonly provides?: Service<P>;
  /**
   * Strict schemas of the kinds of server that it brings, by `type`; without `type`, `enabled`, `timeout`, `prefix` and `tools`,
   * which every entry has. Each is served by {@link ServerTypes}.
   */
  readonly serverTypes?: Readonly<Record<string, ZodType>>;
  /**
   * Stores that it brings, by what the config's `store` begins with: the gateway opens one before plugins are set up, and closes it last.
   * @example stores: { redis: (url, host) => RedisDriver.open(url, host) }
   */
  readonly stores?: Readonly<Record<string, OpenStore>>;
  /**
   * What all of its {@link stores} can do that not every store can. Options that need it are refused with stores that do not say so.
   * @example storeAbilities: ["queue"]
   */
  readonly storeAbilities?: readonly StoreAbility[];
  /**
   * Commands for the command line `propylon`, by name: lower-case words with hyphens. They run without a gateway: nothing is set
   * up for them, not even this plugin. Import what only they need when they run.
   */
  readonly commands?: Readonly<Record<string, CommandDefinition>>;
  /** Names of servers and listeners in the options. Those that do not exist are told at their place by every check. */
  references?(config: C): readonly OptionReference[];
  /**
   * Names in the options that select servers, tools or keys. One that selects nothing is told at its place, with the nearest name: a
   * mistyped name in a rule that denies would let everybody in.
   */
  selects?(config: C): readonly OptionSelector[];
  /** Options that not every store can serve. Where the config's `store` cannot, every check tells it at their place. */
  storeNeeds?(config: C): readonly StoreNeed[];
  /**
   * Serves the gateway's endpoints to clients, those of the config and those that plugins bring; one plugin at most. Called once,
   * before `setup`; what the endpoints show comes with each config that is applied.
   */
  serveEndpoints?(host: EndpointHost): EndpointServer;
  /**
   * Names of the optional packages (optional peers of the plugin's own package) that it imports with these options. A build to
   * one file holds those and no others, and fails when one is not installed. Default, and where it is only known when it runs
   * (`undefined`): all that are installed.
   */
  packages?(config: C): readonly string[] | undefined;
  /** Registers; must not open anything (that is for `onStart`). */
  setup(gateway: PluginContext<C, I>): P | Promise<P>;
}

/**
 * A plugin of any type, as the host handles it.
 *
 * @example const plugins: Record<string, AnyPlugin> = { greeter, visits };
 */
// eslint-disable-next-line typescript/no-explicit-any -- variance: the host checks config and services at run time
export type AnyPlugin = PluginDefinition<any, any, any>;
