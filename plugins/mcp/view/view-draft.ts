import type { Server, Tool } from "propylon";
import { type Listed, isObject } from "propylon/kit";
import type { EndpointContent } from "propylon/internal";
import { type Contender, Contenders } from "./contenders.ts";
import { exposeNames, type NameResult, type Named } from "./exposed-names.ts";
import { isKnown, type NamedKind, type KnownLists } from "./known-lists.ts";
import { List, type ListMethod, toFragment, type Fragment } from "./list.ts";
import { resourceAlias } from "./resource-alias.ts";
import { ToolSelection } from "./tool-selection.ts";
import { UriTemplates } from "./uri-templates.ts";

/** Where a call goes: the server, and the name of the thing there. */
export interface Route {
  readonly server: Server;
  readonly name: string;
  readonly tool?: Tool;
}

/** A thing of a server, with its name there; what is not listed still has a way to it. */
interface Candidate<T> extends Named {
  readonly owner: Server;
  readonly entry: T;
  readonly isListed: boolean;
}

/** What a view is made of. */
export interface ViewParts {
  readonly contenders: Readonly<Record<NamedKind, Contenders>>;
  readonly tools: ReadonlyMap<string, Route>;
  readonly prompts: ReadonlyMap<string, Route>;
  readonly resources: ReadonlyMap<string, Route>;
  readonly templates: UriTemplates;
  readonly lists: Readonly<Record<ListMethod, List>>;
  readonly problems: readonly string[];
  /** Names that clients are told once the view is theirs. */
  readonly told: readonly Claim[];
}

/** A name that clients are told of a thing of a server. */
export interface Claim {
  readonly kind: NamedKind;
  readonly name: string;
  readonly server: string;
}

/** Work of which others have their turn between the pieces: a server decides how many entries there are. */
export type InPieces<T> = Generator<void, T, undefined>;

/** Entries of one piece. */
const SLICE = 1_000;

/** What filters decide for the client. */
export interface Decisions {
  /** Whether there is such a thing. */
  readonly exists: (item: Listed) => boolean;
  /** Whether it is listed. */
  readonly shows: (item: Listed) => boolean;
}

const METHOD: Readonly<Record<NamedKind, ListMethod>> = {
  tool: "tools/list",
  prompt: "prompts/list",
  resource: "resources/list",
  resourceTemplate: "resources/templates/list",
};

/** The member of an entry that names it. */
const MEMBER = {
  tool: "name",
  prompt: "name",
  resource: "uri",
  resourceTemplate: "uriTemplate",
} as const;

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

/** Builds the parts of a view, of what its servers have when it begins; forgotten afterwards. */
export class ViewDraft {
  readonly #problems: string[] = [];
  readonly #told: Claim[] = [];
  /** Who may be meant by a name, by kind. */
  readonly #contenders: Readonly<Record<NamedKind, Contenders>>;
  /** A server may list others between two pieces. */
  readonly #catalogues: ReadonlyMap<Server, Server["catalogue"]>;
  readonly #content: EndpointContent;
  readonly #exists: Decisions["exists"];
  readonly #isShown: Decisions["shows"];
  readonly #known: KnownLists;
  readonly #fragments: Record<ListMethod, Fragment[]> = {
    "tools/list": [],
    "resources/list": [],
    "resources/templates/list": [],
    "prompts/list": [],
  };

  constructor(content: EndpointContent, { exists, shows }: Decisions, known: KnownLists) {
    this.#content = content;
    this.#exists = exists;
    this.#isShown = shows;
    this.#known = known;
    this.#catalogues = new Map(content.servers.map((server) => [server, server.catalogue]));
    this.#contenders = {
      tool: this.#contend("tool", ({ tools }) => tools.map(({ name }) => name)),
      prompt: this.#contend("prompt", ({ prompts }) => prompts.map(({ name }) => name)),
      resource: this.#contend("resource", ({ resources }) => resources.map(({ uri }) => uri)),
      resourceTemplate: this.#contend("resourceTemplate", ({ resourceTemplates }) =>
        resourceTemplates.map(({ uriTemplate }) => uriTemplate),
      ),
    };
  }

  *parts(): InPieces<ViewParts> {
    return {
      contenders: this.#contenders,
      tools: yield* this.#tools(),
      prompts: yield* this.#prompts(),
      resources: yield* this.#resources(),
      templates: yield* this.#templates(),
      lists: this.#lists(),
      problems: this.#problems,
      told: this.#told,
    };
  }

  #tools(): InPieces<Map<string, Route>> {
    const all = this.#candidates(
      "tool",
      ({ tools }) => tools,
      ({ name }) => name,
    );
    const usable = all.filter(({ owner, entry }) => this.#hasSchema(owner, entry));
    const { tools, separator } = this.#content.config;
    const selection = new ToolSelection(tools, this.#contenders.tool, separator);
    this.#problems.push(...selection.problems);
    return this.#name("tool", usable, { selection, shownAs: toListed });
  }

  #prompts(): InPieces<Map<string, Route>> {
    const all = this.#candidates(
      "prompt",
      ({ prompts }) => prompts,
      ({ name }) => name,
    );
    return this.#name("prompt", all, { shownAs: (prompt) => prompt });
  }

  *#resources(): InPieces<Map<string, Route>> {
    const routes = new Map<string, Route>();
    const all = this.#candidates(
      "resource",
      ({ resources }) => resources,
      ({ uri }) => uri,
    );
    for (const [index, candidate] of all.entries()) {
      if (index % SLICE === SLICE - 1) yield;
      const { owner: server, name } = candidate;
      const uri = this.#uri("resource", candidate);
      if (routes.has(uri)) this.#collides("resource", candidate);
      else {
        routes.set(uri, { server, name });
        this.#show("resource", candidate, candidate.entry, uri);
      }
    }
    return routes;
  }

  *#templates(): InPieces<UriTemplates> {
    const templates = new UriTemplates();
    const all = this.#candidates(
      "resourceTemplate",
      ({ resourceTemplates }) => resourceTemplates,
      ({ uriTemplate }) => uriTemplate,
    );
    for (const [index, candidate] of all.entries()) {
      if (index % SLICE === SLICE - 1) yield;
      const { owner, name } = candidate;
      const template = this.#uri("resourceTemplate", candidate);
      if (templates.owner(template)) this.#collides("resource template", candidate);
      else {
        templates.add(template, owner, name);
        this.#show("resourceTemplate", candidate, candidate.entry, template);
      }
    }
    for (const server of this.#content.servers.filter((each) => !isKnown(each)))
      for (const name of this.#known.names(server.name, "resourceTemplate") ?? [])
        templates.add(name, server);
    return templates;
  }

  #lists(): Record<ListMethod, List> {
    const made = Object.entries(this.#fragments).map(([method, all]) => [
      method,
      new List(method as ListMethod, all),
    ]);
    return Object.fromEntries(made) as Record<ListMethod, List>;
  }

  /** Who may have what, of a kind: by what servers say, else by what they said last. */
  #contend(kind: NamedKind, namesOf: (catalogue: Server["catalogue"]) => string[]): Contenders {
    const { servers, config } = this.#content;
    const all = servers.map((server, index): Contender => {
      const { name: own } = server;
      const names = isKnown(server)
        ? new Set(namesOf(this.#catalogues.get(server)!))
        : this.#known.names(own, kind);
      const may = this.#mayHave(server, kind);
      const shows = (name: string): boolean => this.#shows(server, kind, name);
      const isOwn = index === 0 && server.isApart === true;
      const isLocal = server.status.transport === "local";
      return { server: own, prefix: this.#prefix(server), names, may, shows, isOwn, isLocal };
    });
    return new Contenders(this.#known.loading ? [UNREAD, ...all] : all, config.separator);
  }

  #prefix({ name }: Server): string {
    return this.#content.selection.get(name)?.prefix ?? name;
  }

  /** Whether a thing of a server is there for the client; asked once for each name. */
  #mayHave({ name: server }: Server, kind: NamedKind): (name: string) => boolean {
    const selected = kind === "tool" ? this.#content.selection.get(server) : undefined;
    if (!selected && !this.#content.byPrincipal) return () => true;
    return remembered(
      (name) => (selected?.accepts(name) ?? true) && this.#exists({ server, kind, name }),
    );
  }

  #shows(server: Server, kind: NamedKind, name: string): boolean {
    const item: Listed = { server: server.name, kind, name };
    return this.#content.shows(item) && this.#isShown(item);
  }

  #candidates<T>(
    kind: NamedKind,
    entriesOf: (catalogue: Server["catalogue"]) => readonly T[],
    nameOf: (entry: T) => string,
  ): Candidate<T>[] {
    const contenders = new Map(this.#contenders[kind].all.map((each) => [each.server, each]));
    return this.#content.servers.flatMap((owner) => {
      const { server, prefix, may } = contenders.get(owner.name)!;
      return entriesOf(this.#catalogues.get(owner)!)
        .filter((entry) => may(nameOf(entry)))
        .map((entry) => {
          const name = nameOf(entry);
          return { owner, server, prefix, entry, name, isListed: this.#shows(owner, kind, name) };
        });
    });
  }

  *#name<T extends object>(
    kind: "tool" | "prompt",
    candidates: readonly Candidate<T>[],
    how: { readonly selection?: ToolSelection; readonly shownAs: (entry: T) => object },
  ): InPieces<Map<string, Route>> {
    const routes = new Map<string, Route>();
    const { config } = this.#content;
    // What is hidden keeps its name and its way, so that its neighbours keep theirs and the gate can say why it refuses.
    const context = {
      contenders: this.#contenders[kind],
      claimants: (name: string) => this.#claimants(kind, name),
    };
    const names: NameResult[] = [];
    for (const result of exposeNames(candidates, config, context))
      if (names.push(result) % SLICE === 0) yield;
    for (const [index, result] of names.entries()) {
      if (index % SLICE === SLICE - 1) yield;
      const candidate = candidates[index]!;
      const { owner: server, name, entry, isListed } = candidate;
      if ("problem" in result) {
        if (isListed)
          this.#problems.push(`${kind === "tool" ? "Tool" : "Prompt"} ${result.problem}`);
        continue;
      }
      if (how.selection?.has(candidate) === false) continue;
      const route = kind === "tool" ? { server, name, tool: entry as Tool } : { server, name };
      routes.set(result.exposed, route);
      this.#show(kind, candidate, how.shownAs(entry), result.exposed);
    }
    return routes;
  }

  /** Puts a thing into its list. Nobody is told its name before the view is there: a draft may be dropped. */
  #show(
    kind: NamedKind,
    { server, isListed }: Candidate<unknown>,
    entry: object,
    name: string,
  ): void {
    if (!isListed) return;
    this.#told.push({ kind, name, server });
    this.#fragments[METHOD[kind]].push(toFragment(entry, MEMBER[kind], name));
  }

  /** Servers that clients were told this name of, and that are there for the client. */
  #claimants(kind: NamedKind, name: string): ReadonlySet<string> {
    const all = this.#known.claimants(kind, name);
    if (!this.#content.byPrincipal) return all;
    return new Set([...all].filter((server) => this.#exists({ server, kind, name })));
  }

  /** The URI of a resource or template here: its own, unless that may be another server's. */
  #uri(kind: "resource" | "resourceTemplate", candidate: Candidate<unknown>): string {
    const { server, name, isListed } = candidate;
    const owner = this.#contenders[kind].owner(name, this.#claimants(kind, name))?.server;
    if (owner === server) return name;
    const alias = resourceAlias(server, name);
    if (isListed)
      this.#problems.push(
        `The ${kind === "resource" ? "resource" : "resource template"} "${name}" of ${server} is here as "${alias}": ${owner ?? "another server"} has it already, or may have.`,
      );
    return alias;
  }

  /** Clients refuse a whole list for one tool without an object schema. */
  #hasSchema(server: Server, tool: Tool): boolean {
    const valid = isObject(tool.inputSchema) && tool.inputSchema["type"] === "object";
    if (!valid)
      this.#problems.push(
        `Tool "${tool.name}" of ${server.name} is left out: its inputSchema is not of type object.`,
      );
    return valid;
  }

  #collides(what: string, { server, name, isListed }: Candidate<unknown>): void {
    if (isListed)
      this.#problems.push(`The ${what} "${name}" of ${server} is left out: it lists it twice.`);
  }
}

/** Until the store was read, any name may be another server's. */
const UNREAD: Contender = {
  server: "",
  prefix: "",
  names: undefined,
  may: () => true,
  shows: () => true,
};

function remembered(decide: (name: string) => boolean): (name: string) => boolean {
  const known = new Map<string, boolean>();
  return (name) => {
    let decided = known.get(name);
    if (decided === undefined) known.set(name, (decided = decide(name)));
    return decided;
  };
}
