/** Level of contract v1 that a check belongs to, or that a runtime reaches. */
export type ContractLevel = 1 | 2 | 3;

/** What came out of one check. */
export interface CheckResult {
  /** Id of the requirement that the contract gives it, or a name within the kit. */
  readonly id: string;
  readonly title: string;
  /** Level that asks for it; absent for kits without levels. */
  readonly level?: ContractLevel;
  readonly outcome: "passed" | "failed" | "skipped";
  /** For `failed` what was expected and what came, for `skipped` why; as a sentence. */
  readonly message?: string;
  /** Milliseconds it took. */
  readonly duration: number;
}

/** What came out of a run of a kit. */
export interface Report {
  /** Name of the kit, e.g. `runtime`. */
  readonly kit: string;
  /** What was looked at, without credentials. */
  readonly target: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Milliseconds it took. */
  readonly duration: number;
  /** Absent for kits without levels. */
  readonly levels?: {
    readonly asked: ContractLevel;
    /** 0: not even level 1, so the runtime must not be deployed. */
    readonly reached: 0 | ContractLevel;
  };
  readonly results: readonly CheckResult[];
}

/** The highest level of which, and of all below, every check passed; what was skipped has not passed. */
export function levelReached(results: readonly CheckResult[]): 0 | ContractLevel {
  let reached: 0 | ContractLevel = 0;
  for (const level of [1, 2, 3] as const) {
    const asked = results.filter((result) => result.level === level);
    if (asked.length === 0 || asked.some(({ outcome }) => outcome !== "passed")) break;
    reached = level;
  }
  return reached;
}

/** Whether a run shows what it was asked to show: the level, or for kits without levels something passed and nothing failed. */
export function isConformant({ levels, results }: Report): boolean {
  if (levels) return levels.reached >= levels.asked;
  return countOf(results, "passed") > 0 && countOf(results, "failed") === 0;
}

/** How many results have an outcome. */
export function countOf(results: readonly CheckResult[], outcome: CheckResult["outcome"]): number {
  return results.filter((result) => result.outcome === outcome).length;
}

/** A URL as a report shows it: without user, password, query and fragment. */
export function withoutCredentials(url: string): string {
  const shown = new URL(url);
  shown.username = "";
  shown.password = "";
  shown.search = "";
  shown.hash = "";
  return shown.href;
}
