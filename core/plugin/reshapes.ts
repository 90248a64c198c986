import { GatewayError } from "../kit/errors.ts";
import type { Json, Prompt, Resource, ResourceTemplate, Tool } from "../kit/types.ts";
import { definePoint, type Point } from "./point.ts";

/**
 * A tool or prompt in another form, and what leads back to its own.
 *
 * @example
 * const inTokyo: Reshaped<Tool> = {
 *   entry: { ...tool, name: "weather_in_tokyo", inputSchema: { type: "object" } },
 *   args: () => ({ city: "Tokyo" }),
 * };
 */
export interface Reshaped<T> {
  /** As everybody sees it. */
  readonly entry: T;
  /**
   * Makes arguments for the tool's own form of those for this one; default: they are the same. A throw refuses the call.
   * @example args: ({ text }) => ({ text, language: "en" })
   */
  readonly args?: (args: Json) => Json;
  /**
   * Makes the result of this form of the tool's own. Called for what a call comes to in the end; not for an error (`isError`), a task
   * or a question. Default: it stays as it is.
   * @example result: ({ content }) => ({ content })
   */
  readonly result?: (result: Json) => Json;
}

/**
 * How a plugin changes entries of servers; see {@link Reshapes}. Each function is called once for an entry whenever the lists of its
 * server change, and gets a copy of what other plugins have made of it. It answers at once: a promise is refused. `undefined` leaves
 * the entry as it is.
 *
 * @example
 * const short: Reshape = {
 *   server: "docs-*",
 *   tool: (tool) => ({ entry: { ...tool, description: tool.description?.slice(0, 200) } }),
 * };
 */
export interface Reshape {
  /** Name of the servers whose entries are changed; `*` stands for any text. */
  readonly server: string;
  readonly tool?: (tool: Tool, server: string) => Reshaped<Tool> | undefined;
  readonly prompt?: (prompt: Prompt, server: string) => Reshaped<Prompt> | undefined;
  /** Changes the texts of a resource; its `uri` stays. */
  readonly resource?: (resource: Resource, server: string) => Resource | undefined;
  /** Changes the texts of a template; its `uriTemplate` stays. */
  readonly resourceTemplate?: (
    template: ResourceTemplate,
    server: string,
  ) => ResourceTemplate | undefined;
}

/**
 * A reshape with the plugin that added it.
 *
 * @example const owners = (reshapes: readonly RegisteredReshape[]): string[] => reshapes.map(({ plugin }) => plugin);
 */
export interface RegisteredReshape {
  readonly plugin: string;
  readonly reshape: Reshape;
}

const KINDS = ["tool", "prompt", "resource", "resourceTemplate"] as const;

/**
 * What changes how tools, prompts and resources look: names, texts, schemas, annotations. Every interface, rule, filter and log sees the new
 * form alone; the server gets its own. A tool that has another name cannot be called by its own one, and of two that would have one
 * name the later is left out. What fails to be changed is left out as well: it may have been changed to keep something from somebody.
 * A resource that is left out can still be read.
 *
 * Several plugins may change one entry, in their order (service graph, then name). Servers that none of them names cost nothing.
 *
 * @example
 * gateway.add(Reshapes, {
 *   server: "files",
 *   tool: (tool) => ({ entry: { ...tool, annotations: { ...tool.annotations, readOnlyHint: true } } }),
 * });
 */
export const Reshapes: Point<Reshape, RegisteredReshape> = definePoint("reshapes", {
  read({ plugin, value }) {
    const given = KINDS.filter((kind) => value?.[kind] !== undefined);
    const isUsable =
      typeof value?.server === "string" &&
      given.length > 0 &&
      given.every((kind) => typeof value[kind] === "function");
    if (!isUsable)
      throw new GatewayError("invalid", `What plugin "${plugin}" adds is not a reshape.`, {
        hint: 'Write gateway.add(Reshapes, { server: "name", tool: (tool) => ({ entry: tool }) }).',
      });
    return { plugin, reshape: value };
  },
});
