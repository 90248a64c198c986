import type { CommandDefinition } from "./command.ts";
import type { EndpointHost, EndpointServer } from "../gateway/endpoint-server.ts";
import type { PluginContext } from "./plugin-context.ts";
import type { Inject, Service } from "./service.ts";
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
  readonly inject?: I;
  /** The service that `setup` returns. */
  readonly provides?: Service<P>;
  /** Schemas of the kinds of server that it brings, by `type`, for editors; those given to {@link PluginContext.serverType}. */
  readonly serverTypes?: Readonly<Record<string, ZodType>>;
  /**
   * Commands for the command line `propylon`, by name: lower-case words with hyphens. They run without a gateway: nothing is set
   * up for them, not even this plugin. Import what only they need when they run.
   */
  readonly commands?: Readonly<Record<string, CommandDefinition>>;
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

/**
 * Types a plugin. `config`, `inject` and `provides` decide the types of `gateway.config`, `gateway.services` and of what
 * `setup` must return.
 *
 * @example
 * export default definePlugin({
 *   name: "echo",
 *   config: z.strictObject({ greeting: z.string().default("hello") }),
 *   setup(gateway) {
 *     gateway.tool("echo", { description: "Says it back.", input: z.object({ text: z.string() }), run: ({ text }) => text });
 *   },
 * });
 */
export function definePlugin<C = undefined, I extends Inject = {}, P = void>(
  definition: PluginDefinition<C, I, P>,
): PluginDefinition<C, I, P> {
  return definition;
}
