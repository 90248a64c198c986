import { endpointSchema } from "../config/schema.ts";
import type { Listed } from "../plugin.ts";
import type { Provider } from "../provider.ts";
import type { Json, Tool } from "../types.ts";
import { mergeCapabilities, mergeInstructions } from "./capabilities.ts";
import type { EndpointContent } from "./host.ts";
import type { Fragment, ListMethod } from "./list.ts";
import { List, toFragment } from "./list.ts";
import { exposeNames, nameFilter } from "./names.ts";
import { isObject } from "./protocol.ts";
import { UriTemplates } from "./templates.ts";

/** Where a call goes: the server, and the name of the thing there. */
export interface Route {
  readonly provider: Provider;
  readonly name: string;
  readonly tool?: Tool;
}

const LIST_NOUN: Partial<Record<ListMethod, string>> = {
  "tools/list": "Tool",
  "prompts/list": "Prompt",
};

/** Builds the parts of a view; forgotten afterwards. */
class Draft {
  readonly problems: string[] = [];
  readonly #content: EndpointContent;
  readonly #fragments: Record<ListMethod, Fragment[]> = {
    "tools/list": [],
    "resources/list": [],
    "resources/templates/list": [],
    "prompts/list": [],
  };

  constructor(content: EndpointContent) {
    this.#content = content;
  }

  tools(): Map<string, Route> {
    const shown = nameFilter(this.#content.config.tools);
    const candidates = this.#content.providers.flatMap((provider) => {
      const selection = this.#content.selection.get(provider.name);
      const tools = provider.catalogue.tools.filter(
        (tool) =>
          (selection?.accepts(tool.name) ?? true) && this.#shows(provider, "tool", tool.name),
      );
      return tools.map((tool) => ({
        provider,
        prefix: selection?.prefix ?? provider.name,
        name: tool.name,
        tool,
      }));
    });
    const usable = candidates.filter(({ provider, tool }) => this.#hasSchema(provider, tool));
    return this.#name(usable, "tools/list", ({ tool }) => tool, shown);
  }

  prompts(): Map<string, Route> {
    const candidates = this.#content.providers.flatMap((provider) => {
      const prefix = this.#content.selection.get(provider.name)?.prefix ?? provider.name;
      const prompts = provider.catalogue.prompts.filter(({ name }) =>
        this.#shows(provider, "prompt", name),
      );
      return prompts.map((prompt) => ({ provider, prefix, name: prompt.name, prompt }));
    });
    return this.#name(
      candidates,
      "prompts/list",
      ({ prompt }) => prompt,
      () => true,
    );
  }

  resources(): Map<string, Route> {
    const routes = new Map<string, Route>();
    for (const provider of this.#content.providers) {
      for (const resource of provider.catalogue.resources) {
        if (!this.#shows(provider, "resource", resource.uri)) continue;
        const other = routes.get(resource.uri)?.provider;
        if (other !== undefined) this.#collides("resource", resource.uri, provider, other);
        else {
          routes.set(resource.uri, { provider, name: resource.uri });
          this.#fragments["resources/list"].push(toFragment(resource, undefined));
        }
      }
    }
    return routes;
  }

  templates(): UriTemplates {
    const templates = new UriTemplates();
    for (const provider of this.#content.providers) {
      for (const template of provider.catalogue.resourceTemplates) {
        if (!this.#shows(provider, "resourceTemplate", template.uriTemplate)) continue;
        const other = templates.owner(template.uriTemplate);
        if (other !== undefined)
          this.#collides("resource template", template.uriTemplate, provider, other);
        else {
          templates.add(template.uriTemplate, provider);
          this.#fragments["resources/templates/list"].push(toFragment(template, undefined));
        }
      }
    }
    return templates;
  }

  lists(): Record<ListMethod, List> {
    const made = Object.entries(this.#fragments).map(([method, all]) => [
      method,
      new List(method as ListMethod, all),
    ]);
    return Object.fromEntries(made) as Record<ListMethod, List>;
  }

  #name<T extends { provider: Provider; prefix: string; name: string; tool?: Tool }>(
    candidates: readonly T[],
    method: ListMethod,
    entry: (candidate: T) => object,
    shown: (name: string) => boolean,
  ): Map<string, Route> {
    const routes = new Map<string, Route>();
    exposeNames(candidates, this.#content.config).forEach((result, index) => {
      const candidate = candidates[index]!;
      if ("problem" in result) this.problems.push(`${LIST_NOUN[method]} ${result.problem}`);
      else if (shown(result.exposed)) {
        const { provider, name, tool } = candidate;
        routes.set(
          result.exposed,
          tool === undefined ? { provider, name } : { provider, name, tool },
        );
        this.#fragments[method].push(toFragment(entry(candidate), result.exposed));
      }
    });
    return routes;
  }

  #shows(provider: Provider, kind: Listed["kind"], name: string): boolean {
    return this.#content.shows({ server: provider.name, kind, name });
  }

  /** Clients refuse a whole list for one tool without an object schema. */
  #hasSchema(provider: Provider, tool: Tool): boolean {
    const valid = isObject(tool.inputSchema) && tool.inputSchema["type"] === "object";
    if (!valid)
      this.problems.push(
        `Tool "${tool.name}" of ${provider.name} is left out: its inputSchema is not of type object.`,
      );
    return valid;
  }

  #collides(what: string, key: string, provider: Provider, other: Provider): void {
    const owner = other === provider ? "itself" : other.name;
    this.problems.push(
      `The ${what} "${key}" of ${provider.name} is left out: ${owner} has it already.`,
    );
  }
}

/**
 * What one endpoint shows, as one immutable snapshot: the providers' catalogues, selected, named and serialised. Replaced
 * as a whole when a catalogue or the config changes.
 */
export class View {
  /** Shows nothing; what an endpoint has before its first content. */
  static readonly EMPTY = new View({
    config: endpointSchema.parse({}),
    providers: [],
    selection: new Map(),
    shows: () => true,
  });

  readonly tools: ReadonlyMap<string, Route>;
  readonly prompts: ReadonlyMap<string, Route>;
  readonly resources: ReadonlyMap<string, Route>;
  readonly templates: UriTemplates;
  readonly lists: Readonly<Record<ListMethod, List>>;
  readonly capabilities: Json;
  readonly instructions: string | undefined;
  readonly providers: readonly Provider[];
  /** What is left out and why, as sentences for `propylon check` and the log. */
  readonly problems: readonly string[];

  constructor(content: EndpointContent) {
    const draft = new Draft(content);
    this.providers = content.providers;
    this.tools = draft.tools();
    this.prompts = draft.prompts();
    this.resources = draft.resources();
    this.templates = draft.templates();
    this.lists = draft.lists();
    this.problems = draft.problems;
    this.capabilities = mergeCapabilities(content.providers);
    this.instructions = content.config.instructions ?? mergeInstructions(content.providers);
  }

  /** The server that owns a resource; a resource nobody lists goes to the only server that has resources at all. */
  resource(uri: string): Route | undefined {
    const listed = this.resources.get(uri);
    if (listed !== undefined) return listed;
    const provider = this.templates.find(uri) ?? this.#onlyResourceProvider();
    return provider && { provider, name: uri };
  }

  #onlyResourceProvider(): Provider | undefined {
    const able = this.providers.filter((provider) =>
      isObject(provider.catalogue.capabilities["resources"]),
    );
    return able.length === 1 ? able[0] : undefined;
  }
}
