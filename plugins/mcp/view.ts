import type { Json, Listed, Principal, Server, Tool } from "propylon";
import { type EndpointContent, endpointSchema, isObject } from "propylon/kit";
import { mergeCapabilities, mergeInstructions } from "./capabilities.ts";
import type { Fragment, ListMethod } from "./list.ts";
import { List, toFragment } from "./list.ts";
import { exposeNames, nameFilter } from "./exposed-names.ts";
import { existence, isSeen } from "./existence.ts";
import { UriTemplates } from "./templates.ts";

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

function listedFirst<T extends { readonly isListed: boolean }>(all: readonly T[]): readonly T[] {
  if (all.every(({ isListed }) => isListed)) return all;
  return [...all.filter(({ isListed }) => isListed), ...all.filter(({ isListed }) => !isListed)];
}

/** Builds the parts of a view; forgotten afterwards. */
class Draft {
  readonly problems: string[] = [];
  readonly #content: EndpointContent;
  readonly #exists: (item: Listed) => boolean;
  readonly #fragments: Record<ListMethod, Fragment[]> = {
    "tools/list": [],
    "resources/list": [],
    "resources/templates/list": [],
    "prompts/list": [],
  };

  /** @param exists whether there is such a thing for whoever looks */
  constructor(content: EndpointContent, exists: (item: Listed) => boolean) {
    this.#content = content;
    this.#exists = exists;
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
    return this.#name(usable, "tools/list", ({ tool }) => tool, shown);
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
    return this.#content.shows({ server: server.name, kind, name });
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

/**
 * What one endpoint shows, as one immutable snapshot: the servers' catalogues, selected, named and serialised. Replaced
 * as a whole when a catalogue or the config changes.
 */
export class View {
  /** Shows nothing; what an endpoint has before its first content, and what somebody sees whom no filter knows. */
  static readonly NOTHING = new View({
    config: endpointSchema.parse({}),
    servers: [],
    selection: new Map(),
    shows: () => false,
  });

  /** Ways to tools by exposed name, those that no list shows included. The same goes for the next three. */
  readonly tools: ReadonlyMap<string, Route>;
  readonly prompts: ReadonlyMap<string, Route>;
  readonly resources: ReadonlyMap<string, Route>;
  readonly templates: UriTemplates;
  readonly lists: Readonly<Record<ListMethod, List>>;
  readonly capabilities: Json;
  readonly instructions: string | undefined;
  readonly servers: readonly Server[];
  /** What is left out and why, as sentences for `propylon check` and the log. */
  readonly problems: readonly string[];
  readonly #content: EndpointContent;
  readonly #seen: ReadonlySet<Server>;

  /** @param principal whose view it is; default: what filters that look at principals leave to decide */
  constructor(content: EndpointContent, principal?: Principal) {
    const exists = existence(content, principal);
    const draft = new Draft(content, exists);
    this.#content = content;
    this.servers = content.servers;
    this.tools = draft.tools();
    this.prompts = draft.prompts();
    this.resources = draft.resources();
    this.templates = draft.templates();
    this.lists = draft.lists();
    this.problems = draft.problems;
    this.capabilities = mergeCapabilities(content.servers);
    this.#seen = new Set(
      principal ? content.servers.filter((server) => isSeen(server, exists)) : content.servers,
    );
    this.instructions = content.config.instructions ?? mergeInstructions([...this.#seen]);
  }

  /**
   * The server that owns a resource; a resource nobody lists goes to the only server that has resources at all.
   *
   * @param principal who asks: about what no list has, filters are asked anew, and not about whom this view was built for
   */
  resource(uri: string, principal?: Principal): Route | undefined {
    const listed = this.resources.get(uri);
    if (listed !== undefined) return listed;
    const server = this.templates.find(uri) ?? this.#onlyResourceServer();
    return server && this.#exists(server, uri, principal) ? { server, name: uri } : undefined;
  }

  /** Whether anything of a server is there. */
  sees(server: Server): boolean {
    return this.#seen.has(server);
  }

  /** The server whose updates of a resource clients may watch: none for a resource that is hidden. */
  watchable(uri: string, principal?: Principal): Server | undefined {
    const server = this.resource(uri, principal)?.server;
    if (server === undefined) return undefined;
    const item = { server: server.name, kind: "resource", name: uri } as const;
    return this.#content.shows(item) ? server : undefined;
  }

  #exists(server: Server, uri: string, principal: Principal | undefined): boolean {
    const { byPrincipal } = this.#content;
    if (byPrincipal === undefined) return true;
    const item = { server: server.name, kind: "resource", name: uri } as const;
    return principal !== undefined && byPrincipal.shows(item, principal);
  }

  #onlyResourceServer(): Server | undefined {
    const able = this.servers.filter((server) =>
      isObject(server.catalogue.capabilities["resources"]),
    );
    return able.length === 1 ? able[0] : undefined;
  }
}
