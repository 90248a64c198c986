import type { Call } from "../call/call.ts";
import type { Logger } from "pino";
import type { Answer } from "../call/answer.ts";
import type { Catalogue, Server, ServerEvent, ServerStatus } from "../call/server.ts";
import { usableCatalogue } from "./entries.ts";
import type { LeftOut } from "../call/left-out-entry.ts";
import { LeftOutLog } from "./left-out.ts";

/**
 * A server that a plugin wrote, as the rest of the gateway sees it: malformed entries of its lists are left out, because clients
 * refuse the tools of all servers for one of them.
 */
export class GuardedServer<T extends Server = Server> implements Server {
  readonly name: string;
  timeoutOf?: NonNullable<Server["timeoutOf"]>;
  readonly subscribe?: NonNullable<Server["subscribe"]>;
  readonly unsubscribe?: NonNullable<Server["unsubscribe"]>;
  readonly setLogLevel?: NonNullable<Server["setLogLevel"]>;
  readonly rootsChanged?: NonNullable<Server["rootsChanged"]>;
  readonly reconnect?: NonNullable<Server["reconnect"]>;
  readonly probe?: NonNullable<Server["probe"]>;
  resume?: NonNullable<Server["resume"]>;
  readonly tail?: NonNullable<Server["tail"]>;
  readonly patience?: number;
  protected readonly server: T;
  /** The one that answers calls. */
  protected serving: Server;
  readonly #leftOut: LeftOutLog;
  #checked: { readonly given: Catalogue; readonly usable: Catalogue } | undefined;

  constructor(server: T, log: Logger) {
    this.name = server.name;
    this.server = server;
    this.serving = server;
    this.#leftOut = new LeftOutLog(server.name, log);
    // What a server does not offer must stay absent: callers look.
    if (server.timeoutOf) this.timeoutOf = (tool) => server.timeoutOf!(tool);
    if (server.subscribe) this.subscribe = (uri) => this.#offering("subscribe").subscribe!(uri);
    if (server.unsubscribe)
      this.unsubscribe = (uri) => this.#offering("unsubscribe").unsubscribe!(uri);
    if (server.setLogLevel) this.setLogLevel = (level, asker) => server.setLogLevel!(level, asker);
    if (server.rootsChanged)
      this.rootsChanged = () => {
        for (const each of new Set([this.serving, server])) each.rootsChanged?.();
      };
    if (server.reconnect) this.reconnect = () => server.reconnect!();
    if (server.patience !== undefined) this.patience = server.patience;
    if (server.tail) this.tail = (lines) => server.tail!(lines);
    if (server.probe) this.probe = (signal) => this.#offering("probe").probe!(signal);
    if (server.resume) this.resume = (call, task) => this.#offering("resume").resume!(call, task);
  }

  get watchesSignal(): boolean {
    return this.serving.watchesSignal ?? false;
  }

  get isApart(): boolean {
    return this.server.isApart ?? false;
  }

  get dropped(): number {
    return this.server.dropped ?? 0;
  }

  get catalogue(): Catalogue {
    const { serving } = this;
    const isUsable = serving !== this.server || serving.hasUsableLists === true;
    return isUsable ? serving.catalogue : this.#check(serving.catalogue);
  }

  get leftOut(): readonly LeftOut[] {
    return [...(this.serving.leftOut ?? []), ...this.#leftOut.all];
  }

  get status(): ServerStatus {
    return this.server.status;
  }

  request(call: Call): Promise<Answer> {
    return this.serving.request(call);
  }

  on(listener: (event: ServerEvent) => void): () => void {
    return this.server.on(listener);
  }

  /** Looked through once for each catalogue. */
  #check(given: Catalogue): Catalogue {
    if (this.#checked?.given === given) return this.#checked.usable;
    const leftOut: LeftOut[] = [];
    const usable = usableCatalogue(given, leftOut);
    this.#checked = { given, usable };
    this.#leftOut.tell(leftOut, usable);
    return usable;
  }

  /** The one that serves, if it offers something; else this one, which does. */
  #offering(what: "subscribe" | "unsubscribe" | "probe" | "resume"): Server {
    return this.serving[what] ? this.serving : this.server;
  }
}
