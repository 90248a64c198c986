import type { Listed, Server, Tool } from "propylon";
import { type EndpointContent, isObject } from "propylon/kit";
import { List, toFragment, type Fragment, type ListMethod } from "./list.ts";
import { exposeNames, nameFilter, UriTemplates } from "./exposed-names.ts";

/** Where a call goes: the server, and the name of the thing there. */
export interface Route {
  readonly server: Server;
  readonly name: string;
  readonly tool?: Tool;
}

const LIST_NOUN: Partial<Record<ListMethod, string>> = {
  "tools/list": "Tool",
  "prompts/list": "Prompt",
};

/** Something that wants a name here; what is not listed still has a way to it. */
interface Nameable {
  readonly server: Server;
  readonly prefix: string;
  readonly name: string;
  readonly tool?: Tool;
  readonly isListed: boolean;
}

/** A resource or template with its server. */
interface Candidate<T> {
  readonly server: Server;
  readonly entry: T;
  readonly isListed: boolean;
}

const listed = new WeakMap<Tool, Tool>();

/** A tool as clients see it. One that its server runs as a task only (2025-11-25) is one that the gateway waits for. */
function toListed(tool: Tool): Tool {
  const { execution } = tool;
  if (!isObject(execution) || execution["taskSupport"] !== "required") return tool;
  const known = listed.get(tool);
  if (known) return known;
  const { taskSupport: _, ...others } = execution;
  const shown = { ...tool, execution: others };
  listed.set(tool, shown);
  return shown;
}

function listedFirst<T extends { readonly isListed: boolean }>(all: readonly T[]): readonly T[] {
  if (all.every(({ isListed }) => isListed)) return all;
  return [...all.filter(({ isListed }) => isListed), ...all.filter(({ isListed }) => !isListed)];
}

/** What filters decide for whoever looks. */
export interface Decisions {
  /** Whether there is such a thing. */
  readonly exists: (item: Listed) => boolean;
  /** Whether it is listed. */
  readonly shows: (item: Listed) => boolean;
}

/** Builds the parts of a view; forgotten afterwards. */
export class ViewDraft {
  readonly problems: string[] = [];
  readonly #content: EndpointContent;
  readonly #exists: Decisions["exists"];
  readonly #isShown: Decisions["shows"];
  readonly #fragments: Record<ListMethod, Fragment[]> = {
    "tools/list": [],
    "resources/list": [],
    "resources/templates/list": [],
    "prompts/list": [],
  };

  constructor(content: EndpointContent, { exists, shows }: Decisions) {
    this.#content = content;
    this.#exists = exists;
    this.#isShown = shows;
  }

  tools(): Map<string, Route> {
    const shown = nameFilter(this.#content.config.tools);
    const candidates = this.#content.servers.flatMap((server) => {
      const selection = this.#content.selection.get(server.name);
      const tools = server.catalogue.tools.filter(
        ({ name }) =>
          (selection?.accepts(name) ?? true) &&
          this.#exists({ server: server.name, kind: "tool", name }),
      );
      return tools.map((tool) => ({
        server,
        prefix: selection?.prefix ?? server.name,
        name: tool.name,
        tool,
        isListed: this.#shows(server, "tool", tool.name),
      }));
    });
    const usable = candidates.filter(({ server, tool }) => this.#hasSchema(server, tool));
    return this.#name(usable, "tools/list", ({ tool }) => toListed(tool), shown);
  }

  prompts(): Map<string, Route> {
    const candidates = this.#content.servers.flatMap((server) => {
      const prefix = this.#content.selection.get(server.name)?.prefix ?? server.name;
      const prompts = server.catalogue.prompts.filter(({ name }) =>
        this.#exists({ server: server.name, kind: "prompt", name }),
      );
      return prompts.map((prompt) => ({
        server,
        prefix,
        name: prompt.name,
        prompt,
        isListed: this.#shows(server, "prompt", prompt.name),
      }));
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
    const all = this.#candidates(
      ({ resources }) => resources,
      "resource",
      ({ uri }) => uri,
    );
    for (const { server, entry, isListed } of all) {
      const other = routes.get(entry.uri)?.server;
      if (other === undefined) {
        routes.set(entry.uri, { server, name: entry.uri });
        if (isListed) this.#fragments["resources/list"].push(toFragment(entry, undefined));
      } else if (isListed) this.#collides("resource", entry.uri, server, other);
    }
    return routes;
  }

  templates(): UriTemplates {
    const templates = new UriTemplates();
    const all = this.#candidates(
      ({ resourceTemplates }) => resourceTemplates,
      "resourceTemplate",
      ({ uriTemplate }) => uriTemplate,
    );
    for (const { server, entry, isListed } of all) {
      const other = templates.owner(entry.uriTemplate);
      if (other === undefined) {
        templates.add(entry.uriTemplate, server);
        if (isListed)
          this.#fragments["resources/templates/list"].push(toFragment(entry, undefined));
      } else if (isListed) this.#collides("resource template", entry.uriTemplate, server, other);
    }
    return templates;
  }

  /** Everything of one kind; what is listed comes first, so that nothing hidden can take its place. */
  #candidates<T>(
    entriesOf: (catalogue: Server["catalogue"]) => readonly T[],
    kind: Listed["kind"],
    keyOf: (entry: T) => string,
  ): readonly Candidate<T>[] {
    const all = this.#content.servers.flatMap((server) =>
      entriesOf(server.catalogue)
        .filter((entry) => this.#exists({ server: server.name, kind, name: keyOf(entry) }))
        .map((entry) => ({
          server,
          entry,
          isListed: this.#shows(server, kind, keyOf(entry)),
        })),
    );
    return listedFirst(all);
  }

  lists(): Record<ListMethod, List> {
    const made = Object.entries(this.#fragments).map(([method, all]) => [
      method,
      new List(method as ListMethod, all),
    ]);
    return Object.fromEntries(made) as Record<ListMethod, List>;
  }

  #name<T extends Nameable>(
    candidates: readonly T[],
    method: ListMethod,
    entry: (candidate: T) => object,
    shown: (name: string) => boolean,
  ): Map<string, Route> {
    const routes = new Map<string, Route>();
    // What is hidden keeps its name and its way, so that its neighbours keep theirs and the gate can say why it refuses.
    const ordered = listedFirst(candidates);
    exposeNames(ordered, this.#content.config).forEach((result, index) => {
      const candidate = ordered[index]!;
      const { server, name, tool, isListed } = candidate;
      if ("problem" in result) {
        if (isListed) this.problems.push(`${LIST_NOUN[method]} ${result.problem}`);
      } else if (shown(result.exposed)) {
        const route = tool === undefined ? { server, name } : { server, name, tool };
        routes.set(result.exposed, route);
        if (isListed) this.#fragments[method].push(toFragment(entry(candidate), result.exposed));
      }
    });
    return routes;
  }

  #shows(server: Server, kind: Listed["kind"], name: string): boolean {
    const item: Listed = { server: server.name, kind, name };
    return this.#content.shows(item) && this.#isShown(item);
  }

  /** Clients refuse a whole list for one tool without an object schema. */
  #hasSchema(server: Server, tool: Tool): boolean {
    const valid = isObject(tool.inputSchema) && tool.inputSchema["type"] === "object";
    if (!valid)
      this.problems.push(
        `Tool "${tool.name}" of ${server.name} is left out: its inputSchema is not of type object.`,
      );
    return valid;
  }

  #collides(what: string, key: string, server: Server, other: Server): void {
    const owner = other === server ? "itself" : other.name;
    this.problems.push(
      `The ${what} "${key}" of ${server.name} is left out: ${owner} has it already.`,
    );
  }
}
