import type { ModelHealth } from "./models.ts";
import type { HealthReport, ServerHealth } from "./service.ts";
import { describeUnreachable } from "./words.ts";

/** Everything the health of an agent, or of the gateway, depends on. */
export interface Facts {
  /** Why it cannot process requests at all, as a sentence. */
  readonly problem?: string | undefined;
  readonly servers: readonly ServerHealth[];
  /** Agents among the servers that are not well, as they say themselves. */
  readonly agents: readonly { readonly name: string; readonly report: HealthReport }[];
  readonly models: readonly Pick<
    ModelHealth,
    "provider" | "model" | "status" | "message" | "checkedAt"
  >[];
}

/** How a server is, in one word. */
export function statusOfServer({ reachable, failed }: ServerHealth): HealthReport["status"] {
  if (!reachable) return "error";
  return failed === undefined ? "ok" : "degraded";
}

/**
 * Everything reachable and the provider well is `ok`; some not is `degraded`; an agent that cannot
 * work is `error`, and so by default is one with nothing left to work with.
 */
export function judge(facts: Facts, allDown: "error" | "degraded"): HealthReport {
  const timestamp = oldest(facts);
  const { problem, servers, agents } = facts;
  if (problem !== undefined) return { status: "error", timestamp, message: problem };
  const words = describe(facts);
  if (words.length === 0) return { status: "ok", timestamp };
  const failed = agents.filter(({ report }) => report.status === "error").length;
  const down = servers.filter(({ reachable }) => !reachable).length + failed;
  const isAll = down > 0 && down === servers.length + agents.length;
  return { status: isAll ? allDown : "degraded", timestamp, message: words.join("; ") };
}

function describe({ servers, agents, models }: Facts): string[] {
  const unreachable = describeUnreachable(servers.filter(({ reachable }) => !reachable));
  const impaired = servers.flatMap(({ reachable, reason }) =>
    reachable && reason !== undefined ? [withoutDot(reason)] : [],
  );
  const unwell = agents.flatMap(({ name, report }) =>
    report.status === "ok"
      ? []
      : [
          `agent ${name} ${report.status === "error" ? "cannot work" : "is degraded"} (${report.message})`,
        ],
  );
  return [...unreachable, ...impaired, ...unwell, ...describeModels(models)];
}

/** Agents that share a model share its trouble: said once. */
function describeModels(models: Facts["models"]): string[] {
  const failed = models.filter(({ status }) => status === "error");
  const words = failed.map(({ provider, model, message }) => {
    const why = message === undefined ? "" : `: ${withoutDot(message)}`;
    return `LLM provider of ${provider}/${model} failed its check${why}`;
  });
  return [...new Set(words)];
}

/** A report is as old as its oldest fact. */
function oldest({ servers, agents, models }: Facts): string {
  const times = [
    ...servers.map(({ checkedAt }) => checkedAt),
    ...agents.map(({ report }) => report.timestamp),
    ...models.map(({ checkedAt }) => checkedAt),
  ];
  return times.toSorted()[0] ?? new Date().toISOString();
}

function withoutDot(sentence: string): string {
  return sentence.replace(/\.$/, "");
}
