import { Counter, Gauge, type Registry } from "prom-client";
import type { AgentHealth } from "./agents/agent-health.ts";
import { agentId, type ConnectedAgents } from "./agents/connected-agents.ts";

const VALUE: Readonly<Record<AgentHealth["status"], number>> = { ok: 1, degraded: 0.5, error: 0 };

/** What is counted of the teams. */
export interface TeamMetrics {
  readonly events: Readonly<
    Record<"provisioned" | "deleted" | "rotated" | "workspaces_updated", Counter>
  >;
  readonly reconcile: Readonly<Record<"cycles" | "repairs" | "failures", Counter>>;
}

/** Registers `pallas_team_*_total` and `team_reconcile_*_total`. */
export function registerMetrics(registry: Registry): TeamMetrics {
  const count = (name: string, help: string): Counter => {
    const counter = new Counter({ name, help, registers: [] });
    registry.registerMetric(counter);
    return counter;
  };
  return {
    events: {
      provisioned: count("pallas_team_provisioned_total", "Teams that got their token."),
      deleted: count("pallas_team_deleted_total", "Teams deleted at the issuer."),
      rotated: count("pallas_team_rotated_total", "Tokens of teams that were replaced."),
      workspaces_updated: count(
        "pallas_team_workspaces_updated_total",
        "Lists of workspaces that the issuer was told because something changed.",
      ),
    },
    reconcile: {
      cycles: count("team_reconcile_cycles_total", "Looks at all instances."),
      repairs: count(
        "team_reconcile_repairs_total",
        "Teams that were not at the issuer what they should be.",
      ),
      failures: count(
        "team_reconcile_failures_total",
        "Teams that could not be brought to what they should be.",
      ),
    },
  };
}

/** How messages to agents ended. */
export type TurnCounter = Counter<"outcome">;

/** Registers `console_turns_total`. */
export function registerTurns(registry: Registry): TurnCounter {
  const turns = new Counter({
    name: "console_turns_total",
    help: "Messages to agents by how they ended: answered, failed, cancelled or refused.",
    labelNames: ["outcome"],
    registers: [],
  });
  registry.registerMetric(turns);
  return turns;
}

/** Registers `daedalus_agent_health` and `console_agents_left_out`, read when scraped. */
export function registerHealthMetrics(registry: Registry, agents: ConnectedAgents): void {
  const health = new Gauge({
    name: "daedalus_agent_health",
    help: "Health of an agent: 1 ok, 0.5 degraded, 0 error. Of two with the same names the lower.",
    labelNames: ["instance", "agent"],
    registers: [],
    collect() {
      this.reset();
      for (const [labels, value] of healthByName(agents)) this.set(labels, value);
    },
  });
  const leftOut = new Gauge({
    name: "console_agents_left_out",
    help: "Agents of attached instances that are not connected, because there are too many.",
    registers: [],
    collect() {
      this.set(agents.leftOut);
    },
  });
  registry.registerMetric(health);
  registry.registerMetric(leftOut);
}

/** Names of instances are not unique, and one that is well must not hide another. */
function healthByName(agents: ConnectedAgents) {
  const values = new Map<string, readonly [{ instance: string; agent: string }, number]>();
  for (const { row } of agents.connected) {
    const health = agents.healthOf(agentId(row));
    if (!health) continue;
    const labels = { instance: row.instance_name, agent: row.server_id };
    const name = JSON.stringify(labels);
    const lowest = Math.min(VALUE[health.status], values.get(name)?.[1] ?? 1);
    values.set(name, [labels, lowest]);
  }
  return values.values();
}
