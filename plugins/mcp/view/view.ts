import { setImmediate } from "node:timers/promises";
import type { Json, Principal, Server } from "propylon";
import { type Listed, isObject } from "propylon/kit";
import { type EndpointContent, LISTS, type ListName, endpointSchema } from "propylon/internal";
import { mergeCapabilities, mergeInstructions } from "./capabilities.ts";
import type { Contenders, Meaning } from "./contenders.ts";
import { isKnown, type NamedKind, KnownLists } from "./known-lists.ts";
import type { List, ListMethod } from "./list.ts";
import { readAlias } from "./resource-alias.ts";
import type { UriTemplates } from "./uri-templates.ts";
import {
  type Decisions,
  type InPieces,
  ViewDraft,
  type ViewParts,
  type Route,
} from "./view-draft.ts";

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
  readonly #known: KnownLists;
  readonly #contenders: Readonly<Record<NamedKind, Contenders>>;
  readonly #seen: ReadonlySet<Server>;

  /**
   * @param principal whose view it is; default: what filters that look at principals leave to decide
   * @param known what is known of servers that are not there, and what clients were told; default: nothing
   * @param parts default: built now, in one go
   */
  constructor(
    content: EndpointContent,
    principal?: Principal,
    known = new KnownLists(),
    parts = inOneGo(piecesOf(content, principal, known)),
  ) {
    this.#content = content;
    this.#known = known;
    this.#contenders = parts.contenders;
    this.servers = content.servers;
    this.tools = parts.tools;
    this.prompts = parts.prompts;
    this.resources = parts.resources;
    this.templates = parts.templates;
    this.lists = parts.lists;
    this.problems = parts.problems;
    for (const { kind, name, server } of parts.told) known.claim(kind, name, server);
    this.capabilities = mergeCapabilities(content.servers);
    const { shows } = decisions(content, principal);
    this.#seen = new Set(
      principal ? content.servers.filter((server) => isSeen(server, shows)) : content.servers,
    );
    this.instructions = content.config.instructions ?? mergeInstructions([...this.#seen]);
  }

  /**
   * What is shown before any filter looks at a principal, built in pieces between which others have their turn.
   *
   * @param isWanted asked between two pieces; default: always
   * @returns `undefined` for one that is not wanted any more
   */
  static async inTurns(
    content: EndpointContent,
    known: KnownLists,
    isWanted = (): boolean => true,
  ): Promise<View | undefined> {
    const pieces = piecesOf(content, undefined, known);
    let piece = pieces.next();
    while (!piece.done) {
      await setImmediate();
      if (!isWanted()) return undefined;
      piece = pieces.next();
    }
    return new View(content, undefined, known, piece.value);
  }

  /**
   * The server that owns a resource; a resource nobody lists goes to the only server that has resources at all.
   *
   * @param principal who asks: about what no list has, filters are asked again, and not about whom this view was built for
   */
  resource(uri: string, principal?: Principal): Route | undefined {
    const listed = this.resources.get(uri);
    if (listed !== undefined) return listed;
    const alias = readAlias(uri);
    const owner = alias && this.servers.find(({ name }) => name === alias.server);
    // A URI that some server lists, or may list, is not another's because that one is away.
    if (!owner && this.#contenders.resource.of(uri).length > 0) return undefined;
    const server = owner ?? this.templates.find(uri) ?? this.#onlyResourceServer();
    const name = owner ? alias.uri : uri;
    if (!server || !isKnown(server) || this.#isOthers(uri, server, principal)) return undefined;
    return this.#ask("exists", server.name, name, principal) ? { server, name } : undefined;
  }

  /** Where a call of a tool or prompt goes that is listed under another name than the one with the prefix of its server. */
  prefixed(kind: "tool" | "prompt", name: string): Route | undefined {
    const [only, ...others] = this.#contenders[kind].prefixed(name);
    if (!only || others.length > 0) return undefined;
    const told = this.#known.claimants(kind, name);
    const isOthers = told.size > 0 && !told.has(only.server);
    const exposed = isOthers ? undefined : this.nameOf(kind, only);
    const routes = kind === "tool" ? this.tools : this.prompts;
    return exposed === undefined ? undefined : routes.get(exposed);
  }

  /** What a name may mean that leads nowhere at the moment, as things of servers. */
  meanings(kind: NamedKind, name: string): readonly Meaning[] {
    const contenders = this.#contenders[kind];
    const alias = kind === "resource" ? readAlias(name) : undefined;
    const isThere = (meant: Meaning): boolean =>
      contenders.all.some(({ server, may }) => server === meant.server && may(meant.name));
    if (alias) return [{ server: alias.server, name: alias.uri }].filter(isThere);
    // A shortened name says whose it is only to who remembers.
    const told = [...this.#known.claimants(kind, name)].map((server) => ({ server, name }));
    const there = told.filter(isThere);
    return there.length > 0 ? there : contenders.meanings(name);
  }

  /** What a thing of a server is called here. */
  nameOf(kind: "tool" | "prompt", { server, name }: Meaning): string | undefined {
    for (const [exposed, route] of kind === "tool" ? this.tools : this.prompts)
      if (route.server.name === server && route.name === name) return exposed;
    return undefined;
  }

  /** Whether anything of a server is there. */
  sees(server: Server): boolean {
    return this.#seen.has(server);
  }

  /** The way to a resource whose updates clients may watch: none to one that is hidden. */
  watchable(uri: string, principal?: Principal): Route | undefined {
    const route = this.resource(uri, principal);
    if (route === undefined) return undefined;
    const { server, name } = route;
    const item = { server: server.name, kind: "resource", name } as const;
    const isShown = this.#content.shows(item) && this.#ask("shows", server.name, name, principal);
    return isShown ? route : undefined;
  }

  /** Whether clients were told this URI of another server: it is gone, or has the resource no more. */
  #isOthers(uri: string, { name }: Server, principal: Principal | undefined): boolean {
    const told = [...this.#known.claimants("resource", uri)];
    return !told.includes(name) && told.some((each) => this.#ask("exists", each, uri, principal));
  }

  #ask(
    what: "shows" | "exists",
    server: string,
    uri: string,
    principal: Principal | undefined,
  ): boolean {
    const { byPrincipal } = this.#content;
    if (byPrincipal === undefined) return true;
    const item = { server, kind: "resource", name: uri } as const;
    return principal !== undefined && byPrincipal[what](item, principal);
  }

  #onlyResourceServer(): Server | undefined {
    const able = this.servers.filter((server) =>
      isKnown(server)
        ? isObject(server.catalogue.capabilities["resources"])
        : this.#known.hasResources(server.name),
    );
    return able.length === 1 ? able[0] : undefined;
  }
}

/** What a view is made of, piece by piece. */
function piecesOf(
  content: EndpointContent,
  principal: Principal | undefined,
  known: KnownLists,
): InPieces<ViewParts> {
  return new ViewDraft(content, decisions(content, principal), known).parts();
}

function inOneGo<T>(pieces: InPieces<T>): T {
  let piece = pieces.next();
  while (!piece.done) piece = pieces.next();
  return piece.value;
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
