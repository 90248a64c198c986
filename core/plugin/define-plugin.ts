import type { PluginDefinition } from "./plugin.ts";
import type { Inject } from "../kit/service.ts";

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
