import { Counter, type Registry } from "prom-client";

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
