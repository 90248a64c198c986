import { GatewayError, type PluginContext, toGatewayError } from "propylon";
import { FIRST_PROBLEM, setTicker, setTimer } from "propylon/kit";
import { FactChecks } from "propylon/internal";
import { type McpServersService, type OwnServer, httpServerSchema } from "propylon/plugins/servers";
import { type AgentHealth, notWell, readHealth } from "./agent-health.ts";
import type { ConsoleChanges } from "../data/changes.ts";
import type { HostKeys } from "./host-keys.ts";
import type { Instances } from "./instances.ts";
import type { KeyedQueue } from "../data/keyed-queue.ts";
import type { ConsoleOptions } from "../options.ts";
import type { ConnectedRow } from "../data/tables.ts";

/** Agents that are asked at a time. */
const PARALLEL = 32;
/** Longest time between two looks at what is attached, in milliseconds: another replica of the store may have changed it. */
const LOOK_MS = 10_000;
/** How long calls of an agent that is detached may go on, in milliseconds. */
const GRACE_MS = 30_000;
/** Largest single message of an agent, in bytes. */
const MAX_MESSAGE = 4 * 1024 * 1024;
/** Within this pages hear that an agent was asked and is as before, in milliseconds. */
const ASKED_MS = 5_000;

/** What {@link ConnectedAgents} works with. */
export interface ConnectedAgentsOptions {
  readonly config: ConsoleOptions;
  /** Milliseconds between two questions to an agent. */
  readonly interval: number;
  readonly instances: Instances;
  readonly servers: McpServersService;
  readonly keys: HostKeys;
  readonly queue: KeyedQueue;
  readonly changes: Pick<ConsoleChanges, "tell">;
  readonly log: PluginContext["log"];
  /** Aborts when the plugin ends. */
  readonly signal: AbortSignal;
}

/** An agent with a connection. */
export interface ConnectedAgent {
  readonly row: ConnectedRow;
  readonly server: OwnServer;
}

/** The agents of all attached instances: a connection to each, and how it is. */
export class ConnectedAgents {
  readonly #options: ConnectedAgentsOptions;
  readonly #connected = new Map<string, ConnectedAgent>();
  readonly #checks: FactChecks<AgentHealth>;
  #timers: readonly NodeJS.Timeout[] = [];
  /** Agents beyond the limit. */
  leftOut = 0;

  constructor(options: ConnectedAgentsOptions) {
    this.#options = options;
    this.#checks = new FactChecks({
      interval: options.interval,
      lasts: Infinity,
      known: new Map(),
      ask: (id, signal) => this.#ask(id, signal),
      parallel: PARALLEL,
    });
  }

  /** Those with a connection. */
  get connected(): Iterable<ConnectedAgent> {
    return this.#connected.values();
  }

  get(id: string): ConnectedAgent | undefined {
    return this.#connected.get(id);
  }

  /** What is known of an agent; `undefined` when it is not attached, or was not asked yet. */
  healthOf(id: string): AgentHealth | undefined {
    return this.#checks.latest(id);
  }

  /** Connects what is attached, and asks from now on how it is. */
  async start(): Promise<void> {
    await this.sync();
    const { interval } = this.#options;
    this.#timers = [
      setTicker(() => this.#checks.renewDue(this.#connected.keys()), Math.min(1_000, interval)),
      setTicker(() => void this.sync(), Math.min(LOOK_MS, interval)),
    ];
  }

  /** Connects what is attached now, and nothing else. Never rejects. */
  sync(): Promise<void> {
    return this.#options.queue.run("agents", "sync", () => this.#sync());
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#checks.close();
    await Promise.all([...this.#connected.values()].map(({ server }) => server.close(0)));
    this.#connected.clear();
  }

  async #sync(): Promise<void> {
    const { instances, config, log, signal } = this.#options;
    try {
      const { rows, leftOut } = await instances.attachedAgents(config.maxConnectedAgents);
      if (signal.aborted) return;
      if (leftOut > this.leftOut)
        log.warn({ leftOut }, "more agents than plugins.console.maxConnectedAgents");
      this.leftOut = leftOut;
      this.#connect(new Map(rows.map((row) => [agentId(row), row])));
    } catch (error) {
      if (!signal.aborted) log.error({ err: error }, "the agents could not be read");
    }
  }

  #connect(rows: ReadonlyMap<string, ConnectedRow>): void {
    const before = [...this.#connected.keys()].join();
    for (const [id, { row, server }] of this.#connected)
      if (!isSamePlace(rows.get(id), row)) this.#disconnect(id, server);
    for (const [id, row] of rows) {
      const server = this.#connected.get(id)?.server ?? this.#open(id, row);
      this.#connected.set(id, { row, server });
    }
    this.#checks.renewDue(rows.keys());
    if ([...this.#connected.keys()].join() !== before) this.#options.changes.tell("agents");
  }

  #disconnect(id: string, server: OwnServer): void {
    this.#connected.delete(id);
    this.#checks.forget(id);
    void server.close(GRACE_MS);
  }

  /** The URL is what somebody's registry says: it leads where the operator allows, and the key of the host goes to its origin alone. */
  #open(id: string, row: ConnectedRow): OwnServer {
    const { config, servers } = this.#options;
    const entry = httpServerSchema.parse(
      {
        url: row.url,
        headers: this.#headersFor(row),
        allowAddresses: config.allowedAddresses,
        connectTimeout: config.healthTimeout,
        maxResult: MAX_MESSAGE,
        ping: 0,
      },
      FIRST_PROBLEM,
    );
    const server = servers.create(id, entry);
    server.on((event) => {
      if (event.type === "state") this.#hear(id, event.status.state);
    });
    server.start();
    return server;
  }

  /** One whose key cannot be opened any more says so on its own: it wants another. */
  #headersFor(row: ConnectedRow): Record<string, string> {
    const { keys, log } = this.#options;
    try {
      return keys.headersFor(row.url, row);
    } catch (error) {
      const { message, hint } = toGatewayError(error);
      log.warn({ instance: row.instance_id, hint }, message);
      return {};
    }
  }

  /** Came or went: what is known may be wrong now. */
  #hear(id: string, state: OwnServer["status"]["state"]): void {
    const isUp = this.#checks.latest(id)?.status !== "error";
    if (state === (isUp ? "backoff" : "ready") && this.#connected.has(id)) this.#checks.renew(id);
  }

  async #ask(id: string, dispose: AbortSignal): Promise<AgentHealth | undefined> {
    const agent = this.#connected.get(id);
    if (!agent) return undefined;
    const { healthTimeout } = this.#options.config;
    const limit = new AbortController();
    const timer = setTimer(() => limit.abort(lateError(healthTimeout)), healthTimeout);
    const signal = AbortSignal.any([limit.signal, dispose]);
    const before = this.healthOf(id);
    const health = await agent.server
      .ask("get_health", {}, signal)
      .then(readHealth, (error: unknown) => notWell(whyAway(agent, error)));
    clearTimeout(timer);
    if (dispose.aborted) return undefined;
    this.#tell(agent, before, health);
    return health;
  }

  #tell({ row }: ConnectedAgent, before: AgentHealth | undefined, health: AgentHealth): void {
    const { log, changes } = this.#options;
    const isOther = health.status !== before?.status || health.message !== before.message;
    changes.tell("agents", isOther ? 0 : ASKED_MS);
    if (health.status === (before?.status ?? "ok")) return;
    const facts = { instance: row.instance_id, agent: row.server_id, ...health };
    log[health.status === "error" ? "warn" : "info"](facts, "health of an agent changed");
  }
}

/** Id of an agent in the REST. */
export function agentId({
  instance_id: instance,
  server_id: server,
}: Pick<ConnectedRow, "instance_id" | "server_id">): string {
  return `${instance}:${server}`;
}

/** Whether an agent is where it was, and wants the same key. */
function isSamePlace(now: ConnectedRow | undefined, before: ConnectedRow): boolean {
  return now?.url === before.url && now.host_key === before.host_key;
}

/** Why an agent cannot be asked, for people: its connection knows why there is none, and its id says nothing to them. */
export function whyAway({ row, server }: ConnectedAgent, error?: unknown): string {
  const { state, lastError, reason } = server.status;
  const thrown = error === undefined ? undefined : toGatewayError(error).message;
  const why = (state === "ready" ? thrown : (lastError ?? thrown)) ?? reason ?? "It is away.";
  const named = why.replaceAll(`Server "${server.name}"`, `The agent "${row.title ?? row.name}"`);
  return /\bHTTP 401\b/.test(named) ? `${named} Enter the key of its host.` : named;
}

function lateError(ms: number): GatewayError {
  return new GatewayError("timeout", `The agent did not answer within ${ms / 1_000} s.`);
}
