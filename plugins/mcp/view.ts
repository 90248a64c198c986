import type { Json, Listed, Principal, Server } from "propylon";
import { type EndpointContent, LISTS, type ListName, endpointSchema, isObject } from "propylon/kit";
import { mergeCapabilities, mergeInstructions } from "./capabilities.ts";
import type { UriTemplates } from "./exposed-names.ts";
import type { List, ListMethod } from "./list.ts";
import { type Decisions, ViewDraft, type Route } from "./view-draft.ts";

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
    const { exists, shows } = decisions(content, principal);
    const draft = new ViewDraft(content, { exists, shows });
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
      principal ? content.servers.filter((server) => isSeen(server, shows)) : content.servers,
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
    return server && this.#ask("exists", server, uri, principal)
      ? { server, name: uri }
      : undefined;
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
    const isShown = this.#content.shows(item) && this.#ask("shows", server, uri, principal);
    return isShown ? server : undefined;
  }

  #ask(
    what: "shows" | "exists",
    server: Server,
    uri: string,
    principal: Principal | undefined,
  ): boolean {
    const { byPrincipal } = this.#content;
    if (byPrincipal === undefined) return true;
    const item = { server: server.name, kind: "resource", name: uri } as const;
    return principal !== undefined && byPrincipal[what](item, principal);
  }

  #onlyResourceServer(): Server | undefined {
    const able = this.servers.filter((server) =>
      isObject(server.catalogue.capabilities["resources"]),
    );
    return able.length === 1 ? able[0] : undefined;
  }
}

/** What filters decide for a principal; without one, all is there, and those that look at principals have still to decide. */
function decisions({ byPrincipal }: EndpointContent, principal: Principal | undefined): Decisions {
  if (!byPrincipal || !principal) return { exists: () => true, shows: () => true };
  return {
    exists: (item) => byPrincipal.exists(item, principal),
    shows: (item) => byPrincipal.shows(item, principal),
  };
}

/** Whether anything of a server is there; one that has nothing at all hides nothing. */
function isSeen({ name: server, catalogue }: Server, shows: (item: Listed) => boolean): boolean {
  const items: Listed[] = [
    ...catalogue.tools.map(({ name }) => ({ server, kind: "tool" as const, name })),
    ...catalogue.prompts.map(({ name }) => ({ server, kind: "prompt" as const, name })),
    ...catalogue.resources.map(({ uri }) => ({ server, kind: "resource" as const, name: uri })),
    ...catalogue.resourceTemplates.map(({ uriTemplate }) => ({
      server,
      kind: "resourceTemplate" as const,
      name: uriTemplate,
    })),
  ];
  return items.length === 0 || items.some(shows);
}

/** What tells apart, for each list that clients are told of, what they see. */
export type ListDigests = Readonly<Record<ListName, string>>;

/** Those of a view; they are the same for views that show the same, in whatever process. */
export function digestsOf({ lists }: View): ListDigests {
  const { digest: templates } = lists["resources/templates/list"];
  return {
    tools: lists["tools/list"].digest,
    resources: `${lists["resources/list"].digest} ${templates}`,
    prompts: lists["prompts/list"].digest,
  };
}

/** What differs between views, found out once for all clients that saw the one and see the other. */
export class ViewChanges {
  readonly #known = new Map<View, Map<View, readonly ListName[]>>();

  between(before: View, after: View): readonly ListName[] {
    if (before === after) return [];
    let from = this.#known.get(before);
    if (from === undefined) this.#known.set(before, (from = new Map()));
    let lists = from.get(after);
    if (lists === undefined) from.set(after, (lists = differences(before, after)));
    return lists;
  }
}

function differences(before: View, after: View): ListName[] {
  const differs = (method: ListMethod): boolean =>
    !after.lists[method].equals(before.lists[method]);
  const changed = {
    tools: differs("tools/list"),
    resources: differs("resources/list") || differs("resources/templates/list"),
    prompts: differs("prompts/list"),
  };
  return LISTS.filter((list) => changed[list]);
}
