import type { DeadlineRule } from "../call/pipeline.ts";
import type { Middleware } from "../call/call.ts";
import { GatewayError } from "../kit/errors.ts";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { HookListener } from "./emitter.ts";
import { PluginServer } from "../server/plugin-server.ts";
import type { LocalDefinitions } from "../plugin/definitions.ts";
import { Audit, Database, Files, Lists, Metrics } from "../plugin/kernel-services.ts";
import type { OpenDatabase } from "../store/database.ts";
import { Management } from "../plugin/management-service.ts";
import { EndpointHost, type EndpointServer } from "../plugin/endpoint-server.ts";
import type { Added, Contribution, Point } from "../plugin/point.ts";
import type { AnyPlugin } from "../plugin/plugin.ts";
import type { PluginContext, Undo } from "../plugin/plugin-context.ts";
import type { RegisteredRoute, RegisteredSocket } from "../plugin/route.ts";
import type { ManagedServer } from "../call/server-type.ts";
import type { Server, ServerEvent } from "../call/server.ts";
import type { GatewayStore } from "../store/gateway-store.ts";
import { Store } from "../store/store.ts";
import type { Stage } from "../call/stages.ts";
import { basename, resolve } from "node:path";
import { codeIssue, importCode, readCode, readText } from "../config/code.ts";
import { digestFiles } from "../config/file-digest.ts";

/** A middleware as registered. */
export interface RegisteredMiddleware {
  readonly plugin: string;
  readonly stage: Stage;
  readonly run: Middleware;
}

/** What a scope's plugin registered: plain lists, from which `compile` makes what serves requests. */
export interface Registrations extends LocalDefinitions {
  readonly routes: RegisteredRoute[];
  readonly servers: Server[];
  readonly middleware: RegisteredMiddleware[];
  readonly sockets: RegisteredSocket[];
  readonly deadlines: DeadlineRule[];
  readonly hooks: HookListener[];
  readonly added: Added[];
  readonly starters: (() => void | Undo | Promise<void | Undo>)[];
}

/** One plugin set up with one set of options: everything it registered, and how to undo what it started. */
export interface Scope extends Registrations {
  /** Key in the config's `plugins`. */
  readonly key: string;
  readonly name: string;
  readonly plugin: AnyPlugin;
  /** Options as written; equal options keep a scope through a reload. */
  readonly options: unknown;
  /** The scope that provided each injected service, by service id. */
  readonly injected: ReadonlyMap<string, Scope | undefined>;
  /** Files the plugin was made from. */
  readonly sources: Sources;
  /** Cleanups in the order in which they became due; run in reverse. */
  readonly cleanups: Undo[];
  /** Absent for a plugin that is on by default: a gateway without any other does not load the library. */
  readonly registry: Registry | undefined;
  readonly log: Logger;
  /** The plugin's own tools, resources and prompts, as a server. */
  readonly local: PluginServer;
  /** Servers of types that this plugin brings, made and not closed yet. */
  readonly managed: Set<ManagedServer>;
  /** What `setup` returned. */
  service: unknown;
  isDisposed: boolean;
}

/** The parts of the gateway that a plugin reaches through its context. */
export type ScopeHost = Pick<PluginContext, "emit" | "call" | "info" | "point"> & {
  /** Folder that relative paths in the config start from. */
  readonly cwd: string;
  management(): Promise<Management>;
  readonly placeOf: Files["placeOf"];
  readonly log: Logger;
  /** The gateway as the endpoints that a plugin serves see it. */
  endpointHost(plugin: string): EndpointHost;
  /** Whether the config in force has this serve its endpoints. */
  servesEndpoints(server: EndpointServer): boolean;
  /** Rebuilds the lists of every interface, because a filter changed its answers. */
  relist(): void;
  /** The audit as a plugin writes it. */
  audit(plugin: string): Promise<Audit>;
  /** Tells of something of a kind that the plugin declares. */
  event(plugin: string, kind: string, data: unknown): void;
  /** Hears what the plugin's own servers report. */
  onEvent(name: string, event: ServerEvent): void;
  /** A plugin's part of the store. */
  store(plugin: string): Store;
  /** A plugin's tables. */
  readonly database: GatewayStore["database"];
  /** Keeps a value for the plugin of that config key. */
  keep<T>(
    key: string,
    name: string,
    create: () => T,
    dispose?: (value: T) => void | Promise<void>,
  ): T;
};

/** Services of the gateway itself, by id: made for each plugin that injects one. */
const OWN = new Map<string, (scope: Scope, host: ScopeHost) => unknown>([
  [Management.id, (_, host) => host.management()],
  [Lists.id, (_, host): Lists => ({ changed: () => host.relist() })],
  [
    Database.id,
    ({ name }, host): OpenDatabase =>
      (migrations) =>
        host.database(name, migrations),
  ],
  [Audit.id, ({ name }, host) => host.audit(name)],
  [Store.id, ({ name }, host) => host.store(name)],
  [EndpointHost.id, ({ name }, host) => host.endpointHost(name)],
  [
    Files.id,
    ({ sources }, { cwd, placeOf }): Files => ({
      folder: cwd,
      read: (path) => sources.read(path),
      import: (path) => sources.import(path),
      placeOf,
    }),
  ],
  [Metrics.id, ({ registry }) => registry],
]);

/** Whether a service is the gateway's own, which no plugin provides. */
export function isOfGateway(id: string): boolean {
  return OWN.has(id);
}

/**
 * What a plugin gets for a service of the gateway.
 *
 * @throws {GatewayError} `invalid` for one that it cannot have and does not call optional
 */
export async function ownService(
  { id, optional }: { readonly id: string; readonly optional: boolean },
  scope: Scope,
  host: ScopeHost,
): Promise<unknown> {
  const service = await OWN.get(id)!(scope, host);
  if (service !== undefined || optional) return service;
  throw new GatewayError("invalid", "A plugin that is on by default has no metrics of its own.", {
    hint: "Inject optional(Metrics), or count in another plugin.",
  });
}

const emptyRegistrations = (): Registrations => ({
  routes: [],
  tools: [],
  resources: [],
  resourceTemplates: [],
  prompts: [],
  servers: [],
  middleware: [],
  sockets: [],
  deadlines: [],
  hooks: [],
  added: [],
  starters: [],
});

/** What a plugin added to a point, as it wrote it. */
export function addedTo<T>({ added }: Pick<Scope, "added">, { id }: Point<T>): readonly T[] {
  return added.filter(({ point }) => point.id === id).map(({ value }) => value as T);
}

/** An empty scope. */
export function createScope(
  identity: Pick<Scope, "key" | "plugin" | "options" | "injected" | "registry">,
  host: ScopeHost,
): Scope {
  const { name } = identity.plugin;
  const log = host.log.child({ plugin: name });
  const registrations = emptyRegistrations();
  return {
    ...identity,
    ...registrations,
    name,
    log,
    sources: new Sources(host.cwd),
    cleanups: [],
    local: new PluginServer(name, registrations, log),
    managed: new Set(),
    service: undefined,
    isDisposed: false,
  };
}

/**
 * What at most one plugin may bring.
 *
 * @param clash says that two do
 * @throws {GatewayError} `exists` then
 */
export function onlyOne<T>(
  [first, second]: readonly Pick<Contribution<T>, "plugin" | "value">[],
  clash: (one: string, other: string) => string,
  hint = "Take one of them out of plugins.",
): T | undefined {
  if (first && second)
    throw new GatewayError("exists", clash(first.plugin, second.plugin), { hint });
  return first?.value;
}

/** The plugin's own tools, resources and prompts may come later: `changed()` of what they return builds them in. */
const BUILT_ANEW: readonly (keyof Registrations)[] = [
  "tools",
  "resources",
  "resourceTemplates",
  "prompts",
];

/** From here on the gateway is compiled from the lists: what would join them later would be lost without a word. */
export function sealScope(scope: Scope): void {
  for (const list of Object.keys(emptyRegistrations()) as (keyof Registrations)[])
    if (!BUILT_ANEW.includes(list)) scope[list].push = refuseLate;
}

function refuseLate(): never {
  throw new GatewayError("invalid", "It registers something after its setup.", {
    hint: "Register in setup, and await there what has to come first.",
  });
}

/** Opens what the plugin opens; what it returns to undo joins the cleanups at once, so a later failure undoes it. */
export async function startScope(scope: Scope): Promise<void> {
  for (const start of scope.starters) {
    const undo = await start();
    if (!undo) continue;
    // A start that was given up on may still finish: what it opened must not stay open.
    if (scope.isDisposed) await undo();
    else scope.cleanups.push(undo);
  }
}

async function closeManaged(scope: Scope, errors: unknown[]): Promise<void> {
  const closed = await Promise.allSettled([...scope.managed].map((server) => server.close(0)));
  for (const result of closed) {
    if (result.status === "fulfilled") continue;
    scope.log.error({ err: result.reason as unknown }, "a server could not be closed");
    errors.push(result.reason);
  }
  scope.managed.clear();
}

/** Undoes a scope, last registered first. Every cleanup runs even when another throws; the errors are logged and returned. */
export async function disposeScope(scope: Scope): Promise<unknown[]> {
  const errors: unknown[] = [];
  // What the plugin made leaves before what it is made of; no call is left by now.
  await closeManaged(scope, errors);
  scope.isDisposed = true;
  for (const undo of scope.cleanups.splice(0).toReversed()) {
    try {
      await undo();
    } catch (error) {
      scope.log.error({ err: error }, "a cleanup failed");
      errors.push(error);
    }
  }
  scope.registry?.clear();
  return errors;
}

/** The files that a plugin read beside the config: what it is made from, as much as its options. */
class Sources {
  readonly #cwd: string;
  /** Digest over the contents of files at the time they were read, by what they were read for. */
  readonly #read = new Map<
    string,
    { readonly kind: "text" | "code"; readonly files: readonly string[]; readonly digest: string }
  >();

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** Absolute paths. */
  get files(): readonly string[] {
    return [...this.#read.values()].flatMap(({ files }) => files);
  }

  /** Absolute paths of what was read, without what that imports. */
  of(kind: "text" | "code"): readonly string[] {
    return [...this.#read].flatMap(([file, read]) => (read.kind === kind ? [file] : []));
  }

  /** Whether any of them holds something else by now. */
  isChanged(): boolean {
    return [...this.#read.values()].some(({ files, digest }) => digestFiles(files) !== digest);
  }

  /** See `Files.read`. */
  async read(path: string): Promise<string> {
    const file = resolve(this.#cwd, path);
    // Before it is read: what is saved meanwhile counts as a change.
    this.#note(file, "text", [file]);
    try {
      return await readText(file);
    } catch (cause) {
      throw unreadable(path, cause);
    }
  }

  /** See `Files.import`. */
  async import(path: string): Promise<Readonly<Record<string, unknown>>> {
    const file = resolve(this.#cwd, path);
    this.#note(file, "code", [file]);
    await readCode(file).catch((cause: unknown) => {
      throw unreadable(path, cause);
    });
    try {
      const { exports, files, digest } = await importCode(file);
      this.#read.set(file, { kind: "code", files: [...files], digest });
      return exports;
    } catch (cause) {
      const { message, hint } = codeIssue(cause, file, basename(file));
      throw new GatewayError("invalid", `${path}: ${message}`, { hint, cause });
    }
  }

  #note(file: string, kind: "text" | "code", files: readonly string[]): void {
    this.#read.set(file, { kind, files, digest: digestFiles(files) });
  }
}

function unreadable(path: string, cause: unknown): GatewayError {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === "ENOENT")
    return new GatewayError("io_error", `The file ${path} does not exist.`, {
      hint: "The path is relative to the config file; check its spelling.",
      cause,
    });
  return new GatewayError(
    "io_error",
    `The file ${path} cannot be read (${code ?? "unknown error"}).`,
    {
      hint: "Check its permissions.",
      cause,
    },
  );
}
