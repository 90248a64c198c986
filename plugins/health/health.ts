import type { PluginContext } from "propylon";
import type { AgentInfo, AgentsService } from "propylon/plugins/agents";
import type { ModelChecks, ModelHealth } from "./models.ts";
import type { HealthOptions } from "./options.ts";
import type { ServerChecks } from "./servers.ts";
import type { HealthReport, HealthService, ServerHealth } from "./service.ts";
import { judge, statusOfServer, type Facts } from "./verdict.ts";
import type { KnownVerdicts } from "./verdict-watch.ts";

/** How long an answer waits for probes whose result is not known yet, in milliseconds: it comes within a second. */
const ANSWER_MS = 900;

/** What {@link GatewayHealth} works with. */
export interface GatewayHealthOptions {
  readonly gateway: Pick<PluginContext<HealthOptions>, "info" | "config">;
  readonly agents: AgentsService | undefined;
  readonly servers: ServerChecks;
  readonly models: ModelChecks;
}

/** Agents by name. */
type Team = ReadonlyMap<string, AgentInfo>;

/** The health of agents, servers and models from one memory, for every interface that shows it. */
export class GatewayHealth implements HealthService {
  readonly #options: GatewayHealthOptions;

  constructor(options: GatewayHealthOptions) {
    this.#options = options;
  }

  async ofAgent(agent: string): Promise<HealthReport> {
    const team = this.#team;
    const needed = needsOf(agent, team, new Set());
    await this.#know(
      needed.filter((name) => this.#isProbed(name)),
      needed.filter((name) => team.get(name)?.model !== undefined),
    );
    const info = team.get(agent);
    if (info) return this.#reportOf(info, team, new Set());
    const message = `There is no agent "${agent}".`;
    return { status: "error", timestamp: new Date().toISOString(), message };
  }

  async ofGateway(): Promise<HealthReport> {
    const { servers, models, gateway } = this.#options;
    const { probed } = servers;
    await this.#know(probed, models.agents);
    const team = this.#team;
    const facts: Facts = {
      servers: probed.map((server) => this.#health(server)),
      agents: [...team.values()].map((info) => ({
        name: info.name,
        report: this.#reportOf(info, team, new Set()),
      })),
      models: [],
    };
    return judge(facts, gateway.config.allDown);
  }

  ofServer(server: string): ServerHealth | undefined {
    const { servers, gateway } = this.#options;
    return gateway.info.servers.has(server) ? servers.of(server) : undefined;
  }

  /** What is known of servers and agents at the moment, without waiting for anything. */
  get known(): KnownVerdicts {
    const { servers, gateway } = this.#options;
    const team = this.#team;
    const probed = servers.probed.flatMap((name) => {
      const health = servers.checks.latest(name);
      return health ? [[name, statusOfServer(health)] as const] : [];
    });
    const agents = [...team.values()]
      .filter(({ name }) => this.#isKnown(needsOf(name, team, new Set()), team))
      .map((info) => [info.name, this.#reportOf(info, team, new Set()).status] as const);
    return {
      servers: new Map(probed),
      agents: new Map(agents),
      isThere: (name) => gateway.info.servers.has(name),
    };
  }

  /** Whether nothing has to be waited for to judge these. */
  #isKnown(needed: readonly string[], team: Team): boolean {
    const { servers, models } = this.#options;
    return needed.every(
      (name) =>
        (!this.#isProbed(name) || servers.checks.latest(name) !== undefined) &&
        (team.get(name)?.model === undefined || models.checks.latest(name) !== undefined),
    );
  }

  /** What the providers of the agents' models last said. */
  get models(): ModelHealth[] {
    const { models } = this.#options;
    return models.agents.flatMap((agent) => models.checks.latest(agent) ?? []);
  }

  /** The agents by name, told once per question: telling of one takes as long as telling of all. */
  get #team(): Team {
    return new Map(this.#options.agents?.list().map((info) => [info.name, info]));
  }

  /** @param above agents on the way here: one that uses itself says nothing new */
  #reportOf(info: AgentInfo, team: Team, above: ReadonlySet<string>): HealthReport {
    const { gateway } = this.#options;
    const path = new Set([...above, info.name]);
    const others = info.servers.filter((name) => !path.has(name));
    const facts: Facts = {
      problem: info.problem,
      servers: others.filter((name) => !team.has(name)).map((name) => this.#health(name)),
      agents: others.flatMap((name) => {
        const other = team.get(name);
        return other ? [{ name, report: this.#reportOf(other, team, path) }] : [];
      }),
      models: info.model === undefined ? [] : [this.#model(info.name, info.model)],
    };
    return judge(facts, gateway.config.allDown);
  }

  #health(server: string): ServerHealth {
    const { gateway, servers } = this.#options;
    const down = (reason: string): ServerHealth => ({
      server,
      reachable: false,
      reason,
      failed: "transport",
      checkedAt: new Date().toISOString(),
    });
    if (!gateway.info.servers.has(server)) return down("was removed from the gateway");
    if (!servers.isEnabled(server)) return down("is switched off");
    return servers.of(server) ?? down(this.#noAnswer);
  }

  #model(agent: string, id: string): Facts["models"][number] {
    const known = this.#options.models.checks.latest(agent);
    if (known) return known;
    const [provider = "", ...model] = id.split("/");
    return {
      provider,
      model: model.join("/"),
      status: "error",
      message: this.#noAnswer,
      checkedAt: new Date().toISOString(),
    };
  }

  get #noAnswer(): string {
    return `no answer within ${ANSWER_MS} ms`;
  }

  async #know(probed: readonly string[], driven: readonly string[]): Promise<void> {
    const { servers, models } = this.#options;
    await Promise.all([
      servers.checks.whenKnown(probed, ANSWER_MS),
      models.checks.whenKnown(driven, ANSWER_MS),
    ]);
  }

  #isProbed(server: string): boolean {
    const { gateway, servers } = this.#options;
    return gateway.info.servers.get(server)?.probe !== undefined && servers.isEnabled(server);
  }
}

/** The agent, the agents it uses, and the servers of all of them. */
function needsOf(name: string, team: Team, seen: Set<string>): string[] {
  if (seen.has(name)) return [];
  seen.add(name);
  const servers = team.get(name)?.servers ?? [];
  return [name, ...servers.flatMap((server) => needsOf(server, team, seen))];
}
