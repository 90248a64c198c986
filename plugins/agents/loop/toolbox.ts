import { digestOf } from "propylon/kit";
import type { Tool } from "propylon";
import type { ModelTool } from "../model.ts";
import type { RunTool } from "../service.ts";

/** A tool of a server that an agent may use. */
export interface ServerTool {
  readonly server: string;
  readonly tool: Tool;
  /** The name of it for the model; default `<server>__<tool>`. */
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

/** Longest name of a tool that the APIs of models take. */
const LONGEST = 64;

/**
 * A name for a tool that models take, `[A-Za-z0-9_-]{1,64}`, and no other tool has. What does not fit is replaced, and a name
 * that is too long or taken then ends in a hash of the original, so that it stays the same from run to run.
 */
export function nameForModel(original: string, taken: (name: string) => boolean): string {
  const clean = original.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  if (clean !== "" && clean.length <= LONGEST && !taken(clean)) return clean;
  for (let round = 0; ; round++) {
    const hash = digestOf(`${round}:${original}`).slice(0, 8);
    const name = `${clean.slice(0, LONGEST - hash.length - 1)}_${hash}`;
    if (!taken(name)) return name;
  }
}
