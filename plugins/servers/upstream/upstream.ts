import type { Logger } from "pino";
import {
  type Answer,
  type Call,
  type Catalogue,
  GatewayError,
  type Json,
  type PluginContext,
  type Server,
  type ServerStatus,
  type Principal,
  toGatewayError,
} from "propylon";
import {
  type ServerEvent,
  type Files,
  type ProbeReport,
  StatusTracker,
  VERSION,
} from "propylon/kit";
import {
  type Era,
  EMPTY_CATALOGUE,
  type LeftOut,
  type ListName,
  LISTS,
  maskerOf,
} from "propylon/internal";
import { RingBuffer } from "propylon/process";
import { connectTimeoutOf, patienceOf, readConnection } from "../entry.ts";
import { type Clock, SYSTEM_CLOCK } from "../wire/clock.ts";
import type { Connection, ConnectionHost } from "../connection/connection.ts";
import { Dropped } from "../wire/dropped.ts";
import type { ClientInfo } from "../wire/envelope.ts";
import { Carrier } from "./carrier.ts";
import { dial, type DialOptions, type UpstreamConfig } from "../connection/dial.ts";
import type { Exchange } from "../wire/exchange.ts";
import { statusOf } from "../wire/faults.ts";
import { FirstStart } from "../first-start.ts";
import { Listing } from "./listing.ts";
import { LogLevel } from "./log-level.ts";
import { OwnConnections } from "./own-connections.ts";
import { callWithLogin } from "./call-with-login.ts";
import type { Endings } from "./endings.ts";
import { boundsOf, credentialsOf, type ServerCredentials } from "../http/personal.ts";
import type { OwnServer, ServerAccount } from "../service.ts";
import type { ServersOptions } from "../options.ts";
import { Probe } from "../connection/probe.ts";
import { isWatching, Subscriptions, type Watching } from "./subscriptions.ts";
import { readSecureContext } from "../tls-files.ts";
import { Supervision } from "./supervision.ts";

/** Bytes of stderr that are kept of a server's children together. */
const STDERR_KEPT = 64 * 1024;
/** How long a connection of a principal beside the shared one is kept without calls, in milliseconds. */
const IDLE_MS = 300_000;
/** Deepest nesting of what a server sends, where the config is not at hand. */
const MAX_DEPTH = 64;

/** What an {@link Upstream} is made of. */
export interface UpstreamOptions {
  readonly name: string;
  readonly config: UpstreamConfig;
  readonly clientInfo: ClientInfo;
  /** Directory that a relative `cwd` starts from. */
  readonly cwd: string;
  readonly log: Logger;
  /** Lists to show until the server's own arrive. */
  readonly catalogue?: Catalogue;
  /** What it spoke before; default: it is asked. */
  readonly era?: Era | undefined;
  readonly clock?: Clock;
  /** Puts on a call who makes it; default: the server is not told. */
  readonly identify?: (call: Call) => Promise<Call>;
  /** Deepest accepted nesting of what the server sends; default 64. */
  readonly maxDepth?: number;
  /** The account of a principal, or with `undefined` of the gateway, at a server that has `auth`. */
  readonly accountOf?: (principal: Principal | undefined) => ServerAccount | undefined;
  /** Tells of sessions and principals that are gone. */
  readonly endings?: Endings;
  /** Default: our own. */
  readonly httpClient?: ServersOptions["httpClient"] | undefined;
  /** Kills its children, at once, when it aborts. */
  readonly kill?: AbortSignal;
}

/** What is the same for all servers of a gateway. */
export function commonOptions({
  log,
  services,
  info,
}: PluginContext<unknown, { readonly files: typeof Files }>): Required<
  Pick<UpstreamOptions, "log" | "cwd" | "clientInfo" | "maxDepth">
> {
  const { name, version, limits } = info.settings;
  const clientInfo = { name, version: version ?? VERSION };
  return { log, cwd: services.files.folder, clientInfo, maxDepth: limits.depth };
}

/**
 * One MCP server behind the gateway: keeps at most one connection to it, brings it back when it is lost, and shows its last known
 * lists while it is away.
 */
export class Upstream implements OwnServer, Watching {
  readonly name: string;
  readonly watchesSignal = true;
  readonly hasUsableLists = true;
  readonly tail?: NonNullable<Server["tail"]>;
  readonly patience: number;
  readonly #options: UpstreamOptions;
  readonly #clock: Clock;
  readonly #supervision: Supervision;
  readonly #subscriptions = new Subscriptions((params) =>
    this.#tracker.emit({ type: "updated", params }),
  );
  readonly #tracker: StatusTracker;
  readonly #dropped: Dropped;
  readonly #host: ConnectionHost;
  readonly #listing: Listing;
  readonly #probe: Probe;
  readonly #own: OwnConnections;
  readonly #carrier: Carrier;
  readonly #credentials: ServerCredentials | undefined;
  #era: Era | undefined;
  readonly #logLevel: LogLevel;
  readonly #firstStart: FirstStart;

  constructor(options: UpstreamOptions) {
    const { name, config, log } = options;
    const transport = "command" in config ? "stdio" : config.transport;
    this.name = name;
    this.patience = patienceOf(config);
    this.#options = options;
    // What cannot be read is found when the config is, not when the first caller comes.
    if (!("command" in config)) readSecureContext(name, config, options.cwd);
    this.#firstStart = new FirstStart(config);
    this.#era = options.era;
    this.#credentials = credentialsOf(name, config, options.accountOf ?? (() => undefined));
    this.#clock = options.clock ?? SYSTEM_CLOCK;
    this.#dropped = new Dropped(name, log, maskerOf(config));
    this.#logLevel = new LogLevel(name, log);
    this.#tracker = new StatusTracker({ server: name, transport, log });
    this.#host = {
      lost: (connection, error, resend) => this.#onLost(connection, error, resend),
      listChanged: (list) => this.#listing.outdated(list),
      event: (event) => {
        if (event.type !== "updated" || !this.#subscriptions.hold(event.params))
          this.#tracker.emit(event);
      },
      missed: (connection) => this.#onMissed(connection),
    };
    this.#listing = new Listing({
      name,
      log,
      clock: this.#clock,
      timeout: connectTimeoutOf(config),
      backoff: config.backoff,
      catalogue: options.catalogue ?? EMPTY_CATALOGUE,
      current: () => this.#supervision.connection,
      judge: (connection, problem) => this.#supervision.judge(connection, problem),
      changed: (lists) => this.#tracker.emit({ type: "changed", lists }),
    });
    const credentials = this.#credentials;
    const { maxDepth = MAX_DEPTH } = options;
    const stderr = "command" in config ? new RingBuffer(STDERR_KEPT) : undefined;
    if (stderr) this.tail = (lines) => stderr.lines(lines);
    const inbound = { maxDepth, dropped: this.#dropped, stderr };
    const legacy: UpstreamConfig = { ...config, protocol: "legacy" };
    const dialled = (
      how: Pick<DialOptions, "config" | "host" | "remembered" | "signal" | "credentials">,
    ) => {
      const learned = (era: Era | undefined): void => {
        if (era !== undefined || this.#era === "modern") this.#era = era;
      };
      return this.#dial({ ...options, ...inbound, ...how, learned, limit: this.#firstStart.limit });
    };
    this.#supervision = new Supervision({
      name,
      transport,
      backoff: config.backoff,
      ping: config.ping,
      clock: this.#clock,
      dial: (signal) =>
        dialled({
          config,
          host: this.#host,
          remembered: this.#era,
          signal,
          credentials: credentials?.shared,
        }),
      prepare: (connection) => this.#prepare(connection),
      words: () => this.#firstStart.words,
      changed: (status) => this.#tracker.announce(status),
      ...(credentials?.isSecret && { excuse: (error) => this.#excuse(error) }),
    });
    this.#own = new OwnConnections({
      name,
      log,
      clock: this.#clock,
      // Where there is no other connection, callers wait for theirs.
      retry: credentials?.isPersonal ? config.backoff.initial : config.backoff.max,
      isEitherEra: config.protocol === "auto",
      bounds: boundsOf(config),
      idle: idleOf(config),
      ping: config.ping,
      credentials: credentials?.isPersonal ? credentials : undefined,
      host: this.#host,
      dial: (host, signal, own) =>
        own
          ? dialled({ config, host, remembered: this.#era, signal, credentials: own })
          : dialled({
              config: legacy,
              host,
              remembered: "legacy",
              signal,
              credentials: credentials?.shared,
            }),
      prepare: (connection) => this.#prepareBeside(connection),
      listChanged: (connection, list) => this.#outdatedBeside(connection, list),
    });
    options.endings?.add(this.#own);
    this.#carrier = new Carrier(this.#supervision, this.#own, options.identify);
    this.#probe = new Probe({
      ...options,
      ...inbound,
      status: () => this.status,
      whenConnected: (signal) => this.#supervision.whenConnected(signal),
      reconnect: () => this.reconnect(),
    });
  }

  get catalogue(): Catalogue {
    return this.#listing.catalogue;
  }

  get leftOut(): readonly LeftOut[] {
    return this.#listing.leftOut;
  }

  get status(): ServerStatus {
    return this.#supervision.status;
  }

  get dropped(): number {
    return this.#dropped.total;
  }

  get watched(): ReadonlyMap<string, number> {
    return this.#subscriptions.counts;
  }

  /** Calls that have no outcome yet. */
  get inFlight(): number {
    return this.#carrier.inFlight;
  }

  /** Starts connecting; returns at once. */
  start(): void {
    this.#supervision.start();
  }

  /** Ends it after the calls in flight, at most after `graceMs` milliseconds. A child is gone when this resolves. */
  async close(graceMs: number): Promise<void> {
    this.#listing.close();
    this.#options.endings?.remove(this.#own);
    const until = performance.now() + graceMs;
    await this.#carrier.drained(graceMs);
    const left = Math.max(0, until - performance.now());
    await Promise.all([
      this.#probe.close(),
      this.#supervision.close(left),
      this.#own.close("was removed from the gateway", left, true),
    ]);
    this.#subscriptions.suspend();
  }

  /** Drops the connection and makes a new one; resolves when the outcome is known, good or bad (see {@link status}). */
  async reconnect(): Promise<void> {
    const closed = this.#own.close("is being reconnected", 0, false);
    await Promise.all([this.#supervision.reconnect(), closed]);
  }

  probe(signal: AbortSignal): Promise<ProbeReport> {
    return this.#probe.ask(signal);
  }

  request(call: Call): Promise<Answer> {
    const account = this.#credentials?.accountOf(call.principal);
    return account ? callWithLogin(account, call, this.#carrier) : this.#carrier.request(call);
  }

  resume(call: Call, task: string): Promise<Answer> {
    return this.#carrier.resume(call, task);
  }

  ask(tool: string, args: Json, signal: AbortSignal): Promise<Answer> {
    return this.#carrier.ask(tool, args, signal);
  }

  /** Somebody logged in or out: what was opened without is opened again. */
  renew(principal: Principal | undefined): void {
    if (principal === undefined) return void this.reconnect();
    this.#own.drop(principal.ref);
    const nobody = Object.assign(
      {},
      { principal, peer: { key: "" }, signal: new AbortController().signal },
    ) as unknown as Call;
    // Reads the lists, where nobody did before.
    if (!this.#listing.isRead) this.#own.of(nobody, undefined).catch(() => undefined);
  }

  async subscribe(uri: string): Promise<void> {
    // What tells of changes would carry the account of somebody else.
    if (this.#own.isSecret)
      throw new GatewayError(
        "invalid",
        `Server "${this.name}" tells nobody of changed resources.`,
        {
          hint: "Read the resource again.",
        },
      );
    await this.#subscriptions.add(uri);
    await this.#tellBeside(uri);
  }

  async unsubscribe(uri: string): Promise<void> {
    await this.#subscriptions.remove(uri);
    await this.#tellBeside(uri);
  }

  async #tellBeside(uri: string): Promise<void> {
    await Promise.all(
      this.#own.open.map((connection) => this.#subscriptions.tellBeside(connection, [uri])),
    );
  }

  setLogLevel(level: string | undefined, asker: object): void {
    if (!this.#logLevel.set(level, asker)) return;
    for (const connection of this.#carrier.connections) void this.#logLevel.send(connection);
  }

  rootsChanged(): void {
    for (const connection of this.#carrier.connections)
      if (connection.handshake?.era === "legacy")
        connection.notify("notifications/roots/list_changed");
  }

  on(listener: (event: ServerEvent) => void): () => void {
    return this.#tracker.on(listener);
  }

  /** Takes over what clients watch at the server it replaces; the endpoints set the log level themselves. */
  inherit(before: Server): void {
    if (isWatching(before)) this.#subscriptions.inherit(before.watched);
    const { connection } = this.#supervision;
    if (connection) void this.#restore(connection);
  }

  #onLost(connection: Connection, error: GatewayError, resend: Exchange | undefined): void {
    if (connection === this.#supervision.connection) this.#subscriptions.suspend();
    this.#supervision.lost(connection, error);
    if (resend) void this.#carrier.resend(resend, connection.handshake?.era, error);
  }

  #onMissed(connection: Connection): void {
    if (connection === this.#supervision.connection)
      for (const list of LISTS) this.#listing.outdated(list);
    else this.#outdatedBeside(connection, ...LISTS);
    this.#subscriptions.missed();
  }

  /** Where each caller has a connection, and the shared one works, the lists are its lists: there is one list for all. */
  #outdatedBeside(connection: Connection, ...lists: readonly ListName[]): void {
    if (this.#own.isSecret || !this.#own.isPersonal)
      void this.#listing.outdatedBeside(connection, ...lists);
  }

  /** That the gateway itself may not in says nothing about its callers. */
  #excuse(error: GatewayError): string | undefined {
    if (statusOf(error) !== 401 && error.data?.["login"] !== true) return undefined;
    if (this.#listing.isRead) return "";
    return "The tools of the server are known once somebody has logged in there.";
  }

  async #dial(options: DialOptions): Promise<Connection> {
    try {
      const connection = await dial(options);
      this.#firstStart.connected();
      return connection;
    } catch (error) {
      if (toGatewayError(error).code === "timeout") this.#firstStart.late();
      throw error;
    }
  }

  async #prepareBeside(connection: Connection): Promise<void> {
    connection.mirrors = this.#listing.mirrors;
    await Promise.all([
      connection.wire.listen(),
      this.#logLevel.send(connection),
      this.#subscriptions.tellBeside(connection),
    ]);
    if (!this.#own.isSecret || this.#supervision.connection) return;
    this.#era ??= connection.handshake?.era;
    void this.#listing
      .outdatedBeside(connection, ...LISTS)
      .then(() => this.#listing.isRead && this.#supervision.serveWithout(undefined));
  }

  async #prepare(connection: Connection): Promise<string | undefined> {
    this.#era = connection.handshake?.era;
    const [problem] = await Promise.all([
      this.#listing.read(connection),
      connection.wire.listen(),
      this.#restore(connection),
    ]);
    return problem;
  }

  async #restore(connection: Connection): Promise<void> {
    await Promise.all([
      this.#subscriptions
        .resume(connection)
        .catch((error: unknown) =>
          this.#options.log.warn({ err: error, server: this.name }, "subscriptions not restored"),
        ),
      this.#logLevel.send(connection),
    ]);
  }
}

/** How long a connection of a principal is kept that nobody uses, in milliseconds: where the server remembers something, longer. */
function idleOf({ connection }: UpstreamConfig): number {
  const { per, idle } = readConnection(connection);
  return per === "shared" ? IDLE_MS : idle;
}
