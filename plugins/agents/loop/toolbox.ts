import type { Tool } from "propylon";
import type { ModelTool } from "../model.ts";
import type { RunTool } from "../service.ts";
import { nameForModel } from "./names.ts";

/** A tool of a server that an agent may use. */
export interface ServerTool {
  readonly server: string;
  readonly tool: Tool;
  /** What the model shall call it; default `<server>__<tool>`. */
  readonly name?: string | undefined;
}

/** Where a tool name of the model leads. */
export type Destination =
  | { readonly server: string; readonly tool: string }
  | { readonly own: RunTool };

/** The tools of one run, under names that models take. */
export class Toolbox {
  /** As the model is told, in a stable order: a changed list costs the provider its cache. */
  readonly tools: readonly ModelTool[];
  readonly #destinations = new Map<string, Destination>();

  /** @param own tools of this run only; they get their names first */
  constructor(tools: readonly ServerTool[], own: readonly RunTool[] = []) {
    this.tools = [
      ...own.map((tool) => this.#add(tool.name, { own: tool }, tool.description, tool.inputSchema)),
      ...tools.map(({ server, tool, name = `${server}__${tool.name}` }) =>
        this.#add(name, { server, tool: tool.name }, describe(tool), tool.inputSchema),
      ),
    ];
  }

  find(name: string): Destination | undefined {
    return this.#destinations.get(name);
  }

  get names(): readonly string[] {
    return [...this.#destinations.keys()];
  }

  #add(
    wanted: string,
    destination: Destination,
    description: string,
    schema: Readonly<Record<string, unknown>>,
  ): ModelTool {
    const name = nameForModel(wanted, (taken) => this.#destinations.has(taken));
    this.#destinations.set(name, destination);
    const { $schema: _dialect, ...rest } = schema;
    // OpenAI refuses an object without `properties`; MCP servers leave them out for tools without arguments.
    return { name, description, inputSchema: { properties: {}, ...rest, type: "object" } };
  }
}

function describe({ description, title, name }: Tool): string {
  return description ?? title ?? name;
}
