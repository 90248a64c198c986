import {
  GatewayError,
  type Json,
  type PluginContext,
  type Principal,
  type Server,
  type Tool,
} from "propylon";
import { admits, type Management, type Files } from "propylon/kit";
import type { Store } from "propylon/store";
import { troubleFor } from "propylon/internal";
import type { BreakerService, BreakerStatus } from "propylon/plugins/breaker";
import type { GatingService } from "propylon/plugins/gating";
import type { HealthService, ServerHealth } from "propylon/plugins/health";

/** A server in `GET /_meta/servers`. */
export interface ServerView {
  readonly name: string;
  /** Its own flag, from the map in memory. */
  readonly enabled: boolean;
  /** Whether calls can reach it now. */
  readonly connected: boolean;
  readonly state: Server["status"]["state"];
  /** Why it is not ready, as a sentence; for operators. */
  readonly reason: string | null;
  /** When it entered its state, in ISO 8601; `null` while the config leaves it out. */
  readonly since: string | null;
  /** Since when it has not been ready, in ISO 8601; `null` while it is. */
  readonly downSince: string | null;
  readonly nextRetryAt: string | null;
  /** For operators. */
  readonly lastError: string | null;
  /** Failed attempts to connect in a row. */
  readonly attempts: number;
  /** `stdio`, `streamable-http`, `sse`, `local`, or a plugin's own. */
  readonly transport: string;
  readonly protocolVersion: string | null;
  readonly pid: number | null;
  /** Where it runs, if one replica of the store runs it for all; for operators. */
  readonly placement: Server["status"]["placement"] | null;
  /** Where it is declared: in the config, where it can be deleted, or by a plugin. */
  readonly origin: "config" | "plugin";
  /** As the server says it. */
  readonly serverInfo: Json | null;
  readonly tools: { readonly total: number; readonly enabled: number };
  readonly resources: number;
  readonly prompts: number;
  /** `null` without the breaker plugin. */
  readonly breaker: BreakerStatus | null;
  /** How its last probe went; `null` before the first, and without the health plugin. */
  readonly health: ServerHealth | null;
}

/** The gateway for those who manage it. */
export type AdminContext = PluginContext<
  unknown,
  {
    readonly files: typeof Files;
    readonly management: typeof Management;
    readonly store: typeof Store;
  }
>;

/** Plugins whose facts are shown with the servers. */
export interface Companions {
  readonly gating: GatingService;
  readonly breaker: BreakerService | undefined;
  readonly health: HealthService | undefined;
}

/** A tool in `GET /_meta/servers/:server/tools`. */
export interface ToolView {
  readonly name: string;
  /** Its own flag. */
  readonly enabled: boolean;
  /** Whether it can be called: its flag and that of its server. */
  readonly available: boolean;
  readonly title: string | null;
  readonly description: string | null;
  readonly inputSchema: unknown;
  readonly outputSchema: unknown;
  readonly annotations: Tool["annotations"] | null;
}

/** A resource or template in `GET /_meta/servers/:server/resources`. */
export interface ResourceView {
  readonly name: string;
  /** The URI, or the template of it. */
  readonly uri: string;
  readonly isTemplate: boolean;
  readonly title: string | null;
  readonly description: string | null;
  readonly mimeType: string | null;
}

/** A prompt in `GET /_meta/servers/:server/prompts`. */
export interface PromptView {
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly arguments: readonly { readonly name: string; readonly required?: boolean }[];
}

/** The parts of the gateway that are managed, looked up by name. */
export class Administration {
  readonly #gateway: AdminContext;
  readonly #gating: GatingService;
  readonly #breaker: BreakerService | undefined;
  readonly #health: HealthService | undefined;

  constructor(gateway: AdminContext, { gating, breaker, health }: Companions) {
    this.#gateway = gateway;
    this.#gating = gating;
    this.#breaker = breaker;
    this.#health = health;
  }

  /** Every server, in the order of the config, then those of plugins. */
  servers(asker: Principal): ServerView[] {
    const running = [...this.#gateway.info.servers.values()];
    const entries = this.#gateway.info.effectiveConfig() as { readonly servers: object };
    const leftOut = Object.entries(entries.servers)
      .filter(([name]) => this.#isLeftOut(name))
      .map(([name, entry]) => leftOutView(name, entry as Entry, asker));
    return [...running.map((server) => this.#view(server, asker)), ...leftOut];
  }

  /** @throws {GatewayError} `not_found` */
  server(name: string, asker: Principal): ServerView {
    if (this.#isLeftOut(name))
      return leftOutView(
        name,
        this.#gateway.services.management.serverConfig(name) as Entry,
        asker,
      );
    return this.#view(this.find(name), asker);
  }

  /**
   * The tools of a server that are there for the caller, sorted by name; none of one that the config leaves out.
   * @throws {GatewayError} `not_found`
   */
  tools(server: string, asker: Principal): ToolView[] {
    if (this.#isLeftOut(server)) return [];
    const isOn = this.#gating.isServerEnabled(server);
    return this.#toolsFor(this.find(server), asker)
      .map((tool) => toToolView(tool, this.#gating.isToolEnabled(server, tool.name), isOn))
      .toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
  }

  /**
   * The resources of a server and their templates, as it lists them; none of one that the config leaves out.
   * @throws {GatewayError} `not_found`
   */
  resources(server: string): ResourceView[] {
    if (this.#isLeftOut(server)) return [];
    const { resources, resourceTemplates } = this.find(server).catalogue;
    return [
      ...resources.map((one) => toResourceView(one, one.uri, false)),
      ...resourceTemplates.map((one) => toResourceView(one, one.uriTemplate, true)),
    ];
  }

  /**
   * The prompts of a server, as it lists them; none of one that the config leaves out.
   * @throws {GatewayError} `not_found`
   */
  prompts(server: string): PromptView[] {
    if (this.#isLeftOut(server)) return [];
    return this.find(server).catalogue.prompts.map((prompt) => ({
      name: prompt.name,
      title: textOrNull(prompt["title"]),
      description: textOrNull(prompt["description"]),
      // A prompt whose arguments are something else is left out of the catalogue.
      arguments: (prompt["arguments"] ?? []) as PromptView["arguments"],
    }));
  }

  /** @throws {GatewayError} `not_found`, `disabled` for one that the config leaves out */
  find(name: string): Server {
    const server = this.#gateway.info.servers.get(name);
    if (server) return server;
    if (this.#isLeftOut(name))
      throw new GatewayError("disabled", `The server "${name}" is switched off in the config.`, {
        data: { server: name },
        hint: `POST /_meta/servers/${name}/enable switches it on.`,
      });
    throw new GatewayError("not_found", `There is no server "${name}".`, {
      hint: "GET /_meta/servers lists them; it may have been removed.",
    });
  }

  /**
   * Connects a server again; calls go through again at once, whatever its circuit was.
   * @throws {GatewayError} as `Management.reconnect`
   */
  async reconnect(name: string): Promise<void> {
    await this.#gateway.services.management.reconnect(name);
    this.#breaker?.reset(name);
  }

  /** Whether a server is an entry of the config. */
  isConfigured(name: string): boolean {
    return this.#gateway.services.management.serverConfig(name) !== undefined;
  }

  /** Tools that are reserved for others are not in any list. */
  #toolsFor({ name: server, catalogue }: Server, asker: Principal): Tool[] {
    const { info } = this.#gateway;
    return catalogue.tools.filter(({ name }) => info.exists({ server, kind: "tool", name }, asker));
  }

  #isLeftOut(name: string): boolean {
    return !this.#gateway.info.servers.has(name) && this.isConfigured(name);
  }

  #view(server: Server, asker: Principal): ServerView {
    const { name, status, catalogue } = server;
    const { resources, resourceTemplates, prompts, serverInfo } = catalogue;
    const tools = this.#toolsFor(server, asker);
    const { reason = null, lastError = null } = troubleFor(asker, status);
    const enabledTools = tools.filter((tool) => this.#gating.isToolEnabled(name, tool.name));
    return {
      name,
      enabled: this.#gating.isServerEnabled(name),
      connected: status.state === "ready" || status.state === "degraded",
      state: status.state,
      reason,
      since: status.since,
      downSince: status.downSince ?? null,
      nextRetryAt: status.nextRetryAt ?? null,
      lastError,
      attempts: status.attempts,
      transport: status.transport,
      protocolVersion: status.protocolVersion ?? null,
      pid: status.pid ?? null,
      placement: admits(asker, "operator") ? (status.placement ?? null) : null,
      origin: this.isConfigured(name) ? "config" : "plugin",
      serverInfo: serverInfo ?? null,
      tools: { total: tools.length, enabled: enabledTools.length },
      resources: resources.length + resourceTemplates.length,
      prompts: prompts.length,
      breaker: this.#breaker?.statusOf(name) ?? null,
      health: this.#health?.ofServer(name) ?? null,
    };
  }
}

/** What an entry of `servers` says of how it is reached. */
interface Entry {
  readonly command?: string;
  readonly transport?: string;
  readonly type?: string;
}

/** A server with `enabled: false` in the config: nothing of it runs. */
function leftOutView(name: string, entry: Entry, asker: Principal): ServerView {
  const { command, transport = "streamable-http", type } = entry;
  const { reason = null } = troubleFor(asker, {
    reason: "Switched off in the config (enabled: false).",
  });
  return {
    name,
    enabled: false,
    connected: false,
    state: "closed",
    reason,
    since: null,
    downSince: null,
    nextRetryAt: null,
    lastError: null,
    attempts: 0,
    transport: type ?? (command === undefined ? transport : "stdio"),
    protocolVersion: null,
    pid: null,
    placement: null,
    origin: "config",
    serverInfo: null,
    tools: { total: 0, enabled: 0 },
    resources: 0,
    prompts: 0,
    breaker: null,
    health: null,
  };
}

function toToolView(tool: Tool, enabled: boolean, isServerOn: boolean): ToolView {
  return {
    name: tool.name,
    enabled,
    available: enabled && isServerOn,
    title: tool.title ?? null,
    description: tool.description ?? null,
    inputSchema: tool.inputSchema,
    outputSchema: tool.outputSchema ?? null,
    annotations: tool.annotations ?? null,
  };
}

function toResourceView(
  { name, title, description, mimeType }: Json & { readonly name: string },
  uri: string,
  isTemplate: boolean,
): ResourceView {
  return {
    name,
    uri,
    isTemplate,
    title: textOrNull(title),
    description: textOrNull(description),
    mimeType: textOrNull(mimeType),
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
