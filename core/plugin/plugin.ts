import type { PluginNeeds, StoreKind } from "./definitions.ts";
import type { CommandDefinition } from "./command.ts";
import type { PluginContext } from "./plugin-context.ts";
import type { Inject, Service } from "../kit/service.ts";
import type { ZodType } from "zod";

/**
 * A plugin as written; see {@link definePlugin}.
 *
 * @example const greeter: PluginDefinition<{ greeting: string }> = { name: "greeter", config: options, setup };
 */
export interface PluginDefinition<C = unknown, I extends Inject = Inject, P = unknown> {
  /** Kebab-case; unique in a gateway. */
  readonly name: string;
  /**
   * Version of Propylon that it is written for: `^0.2` is 0.2 and what follows before 0.3, `^1.2` is 1.2 and what follows before 2.
   * With another one it is refused. Default: any.
   */
  readonly requires?: `^${number}.${number}`;
  /** Strict zod schema of the options; default: no options. Validates before `setup`, completes YAML, documents itself. */
  readonly config?: ZodType<C>;
  /**
   * A key at the top of the config where the plugin's options stand, as if they stood in `plugins`; with `option` where one of them
   * stands. A config with it uses the plugin, if that is included in Propylon or is in `plugins`. Keys of the core and of
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
  /** Stores that it brings, by what the config's `store` begins with. */
  readonly stores?: Readonly<Record<string, StoreKind>>;
  /**
   * Commands for the command line `propylon`, by name: lower-case words with hyphens. They run without a gateway: nothing is set
   * up for them, not even this plugin. Import what only they need when they run.
   */
  readonly commands?: Readonly<Record<string, CommandDefinition>>;
  /** What the options need of what is around the plugin. Every check asks once, so it looks nothing up that takes time. */
  needs?(config: C): PluginNeeds;
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
