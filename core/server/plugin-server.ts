import type {
  LocalDefinitions,
  NamedDefinition,
  PromptDefinition,
  ResourceContent,
  ResourceDefinition,
} from "../plugin/definitions.ts";
import type { Call } from "../call/call.ts";
import type { Logger } from "pino";
import { Answer } from "../call/answer.ts";
import { makeCatalogue } from "../call/catalogue.ts";
import { LocalTool } from "./tool.ts";
import {
  EMPTY_CATALOGUE,
  type Catalogue,
  type Server,
  type ServerEvent,
  type ServerStatus,
} from "../call/server.ts";
import { StatusTracker } from "./status.ts";
import { compileTemplate, type UriTemplate } from "./template.ts";
import type { Json } from "../kit/types.ts";

/** Most values one completion may carry (MCP, completion/complete). */
const MAX_VALUES = 100;

/** A template with its matcher. */
interface LocalTemplate {
  readonly definition: ResourceDefinition;
  readonly uri: UriTemplate;
}

/** One plugin's tools, resources, templates and prompts, served like any upstream. */
export class PluginServer implements Server {
  readonly name: string;
  readonly #definitions: LocalDefinitions;
  readonly #log: Logger;
  readonly #tracker: StatusTracker;
  readonly #subscriptions = new Map<string, number>();
  #tools: ReadonlyMap<string, LocalTool> = new Map();
  #templates: readonly LocalTemplate[] = [];
  #catalogue: Catalogue = EMPTY_CATALOGUE;

  constructor(name: string, definitions: LocalDefinitions, log: Logger) {
    this.name = name;
    this.#definitions = definitions;
    this.#log = log;
    this.#tracker = new StatusTracker({ server: name, transport: "local", log, state: "ready" });
  }

  get catalogue(): Catalogue {
    return this.#catalogue;
  }

  get status(): ServerStatus {
    return this.#tracker.status;
  }

  /** Whether there is anything to serve. A plugin that only brings routes or middleware is not a server. */
  get isEmpty(): boolean {
    const { tools, resources, resourceTemplates, prompts } = this.#definitions;
    return [tools, resources, resourceTemplates, prompts].every((list) => list.length === 0);
  }

  /**
   * Compiles what is registered, once setup is done and again after every change.
   *
   * @throws {GatewayError} `invalid` for a schema or template that cannot be served
   */
  compile(): void {
    const { tools, resources, resourceTemplates, prompts } = this.#definitions;
    const compiled = tools.map(
      ({ name, definition }) =>
        this.#tools.get(name)?.reuse(definition) ?? new LocalTool(name, definition, this.#log),
    );
    this.#tools = new Map(compiled.map((tool) => [tool.name, tool]));
    this.#templates = resourceTemplates.map(({ definition }) => ({
      definition,
      uri: compileTemplate(definition.uriTemplate),
    }));
    this.#catalogue = makeCatalogue({
      tools: compiled.map(({ listed }) => listed),
      resources: resources.map(toListed),
      resourceTemplates: resourceTemplates.map(toListed),
      prompts: prompts.map(toListed),
      capabilities: capabilitiesOf(this.#definitions),
    });
  }

  /** The tool of that name, for the `validate` stage. */
  tool(name: string): LocalTool | undefined {
    return this.#tools.get(name);
  }

  timeoutOf(tool: string): number | undefined {
    return this.#tools.get(tool)?.timeout;
  }

  async request(call: Call): Promise<Answer> {
    switch (call.method) {
      case "tools/call": {
        const tool = this.#tools.get(call.name);
        return tool
          ? tool.run(call)
          : Answer.error({ code: -32602, message: `Unknown tool: ${call.name}` });
      }
      case "resources/read":
        return this.#read(call);
      case "prompts/get":
        return this.#prompt(call);
      case "completion/complete":
        return complete(call, this.#definitions);
    }
  }

  async #read(call: Call): Promise<Answer> {
    const uri = call.name;
    const fixed = this.#definitions.resources.find(({ definition }) => definition.uri === uri);
    if (fixed) return contents(fixed.definition, await fixed.definition.read({}, call), uri);
    for (const { definition, uri: template } of this.#templates) {
      const variables = template.match(uri);
      if (variables) return contents(definition, await definition.read(variables, call), uri);
    }
    return Answer.error({ code: -32602, message: "Resource not found", data: { uri } });
  }

  async #prompt(call: Call): Promise<Answer> {
    const found = this.#definitions.prompts.find(({ name }) => name === call.name);
    if (!found) return Answer.error({ code: -32602, message: `Unknown prompt: ${call.name}` });
    const args = (call.args ?? {}) as Record<string, string>;
    const wrong = wrongArgument(found, args);
    if (wrong) return Answer.error({ code: -32602, message: wrong });
    const { definition } = found;
    const made = await definition.get(args, call);
    if (Array.isArray(made)) return Answer.result({ ...describe(definition), messages: made });
    const result = made as Json;
    return Answer.result(
      "messages" in result || "resultType" in result
        ? result
        : { ...describe(definition), messages: [result] },
    );
  }

  /** Compiles again what was registered since, and tells the clients. */
  changed(list: "tools" | "resources" | "prompts"): void {
    this.compile();
    this.#tracker.emit({ type: "changed", lists: [list] });
  }

  /** Tells the clients that subscribed to a resource that it changed. */
  updated(uri: string): void {
    if (this.#subscriptions.has(uri)) this.#tracker.emit({ type: "updated", params: { uri } });
  }

  subscribe(uri: string): Promise<void> {
    this.#subscriptions.set(uri, (this.#subscriptions.get(uri) ?? 0) + 1);
    return Promise.resolve();
  }

  unsubscribe(uri: string): Promise<void> {
    const left = (this.#subscriptions.get(uri) ?? 0) - 1;
    if (left > 0) this.#subscriptions.set(uri, left);
    else this.#subscriptions.delete(uri);
    return Promise.resolve();
  }

  on(listener: (event: ServerEvent) => void): () => void {
    return this.#tracker.on(listener);
  }
}

/** Answers `completion/complete` from the `complete` callbacks of a plugin's prompts and resource templates. */
async function complete(
  call: Call,
  { prompts, resourceTemplates }: LocalDefinitions,
): Promise<Answer> {
  const ref = call.params?.["ref"] as Json | undefined;
  const argument = call.params?.["argument"] as Json | undefined;
  const target =
    ref?.["type"] === "ref/prompt"
      ? prompts.find(({ name }) => name === call.name)
      : resourceTemplates.find(({ definition }) => definition.uriTemplate === call.name);
  if (!target) return Answer.error({ code: -32602, message: `Nothing to complete: ${call.name}` });
  if (typeof argument?.["name"] !== "string" || typeof argument["value"] !== "string") {
    return Answer.error({
      code: -32602,
      message: "Completion needs argument.name and argument.value as strings.",
    });
  }
  const values =
    (await target.definition.complete?.(argument["name"], argument["value"], call)) ?? [];
  const shown = values.slice(0, MAX_VALUES);
  return Answer.result({
    completion: { values: shown, total: values.length, hasMore: values.length > shown.length },
  });
}

type Listed = { readonly name: string; readonly [key: string]: unknown };

/** A definition as it is listed: everything but its callbacks. */
function toListed<T extends object>({ name, definition }: NamedDefinition<T>): T & Listed {
  const data = Object.entries(definition).filter(([, value]) => typeof value !== "function");
  return { ...(Object.fromEntries(data) as T), name };
}

function capabilitiesOf({ tools, resources, resourceTemplates, prompts }: LocalDefinitions): Json {
  const completes = [...resourceTemplates, ...prompts].some(
    ({ definition }) => definition.complete !== undefined,
  );
  return {
    ...(tools.length > 0 && { tools: { listChanged: true } }),
    ...(resources.length + resourceTemplates.length > 0 && {
      resources: { subscribe: true, listChanged: true },
    }),
    ...(prompts.length > 0 && { prompts: { listChanged: true } }),
    ...(completes && { completions: {} }),
    logging: {},
  };
}

function contents(
  { mimeType }: Pick<ResourceDefinition, "mimeType">,
  read: ResourceContent | readonly ResourceContent[],
  uri: string,
): Answer {
  const list = (Array.isArray(read) ? read : [read]) as readonly ResourceContent[];
  const defaults = mimeType === undefined ? { uri } : { uri, mimeType };
  return Answer.result({ contents: list.map((content) => ({ ...defaults, ...content })) });
}

function describe({ description }: PromptDefinition): Json {
  return typeof description === "string" ? { description } : {};
}

/** Prompt arguments are strings, and the required ones must be there (MCP, prompts/get). */
function wrongArgument(
  { name, definition }: NamedDefinition<PromptDefinition>,
  args: Json,
): string | undefined {
  const missing = definition.arguments?.find(
    (argument) => argument.required === true && args[argument.name] === undefined,
  );
  if (missing) return `Prompt "${name}" needs the argument "${missing.name}".`;
  const odd = Object.keys(args).find((argument) => typeof args[argument] !== "string");
  return odd === undefined ? undefined : `Argument "${odd}" of prompt "${name}" must be a string.`;
}
