/** What came out of one check. */
export interface CheckResult {
  /** Requirement id, e.g. `R061`, or a name within the kit. */
  readonly id: string;
  readonly title: string;
  /** Level that asks for it; absent for kits without levels. */
  readonly level?: 1 | 2 | 3;
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
  readonly results: readonly CheckResult[];
}
