import type { CheckResult, ContractLevel } from "./report.ts";

/** One thing that a kit looks at. */
export interface Check<Scene> {
  readonly id: string;
  readonly title: string;
  readonly level?: ContractLevel;
  /** Resolves when it holds; throws a {@link Deviation} when it does not, {@link Unobservable} when nobody can tell. */
  readonly run: (scene: Scene) => void | Promise<void>;
}

/** Checks that a level asks for. */
export function atLevel<Scene>(
  level: ContractLevel,
  checks: readonly Omit<Check<Scene>, "level">[],
): readonly Check<Scene>[] {
  return checks.map((check) => ({ ...check, level }));
}

/** Something is not as it has to be. The message says in a sentence what was expected and what came. */
export class Deviation extends Error {
  override readonly name = "Deviation";
}

/** From where the kit stands it cannot be told. The message says why, and what would help. */
export class Unobservable extends Error {
  override readonly name = "Unobservable";
}

/** @throws {Deviation} with the sentence, unless the condition holds */
export function demand(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new Deviation(sentence);
}

/** Runs one check after the other; what a check throws is its finding, never the end of the run. */
export async function runChecks<Scene>(
  checks: readonly Check<Scene>[],
  scene: Scene,
): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = [];
  for (const check of checks) results.push(await runCheck(check, scene));
  return results;
}

async function runCheck<Scene>(
  { id, title, level, run }: Check<Scene>,
  scene: Scene,
): Promise<CheckResult> {
  const began = performance.now();
  const finding = await findingOf(() => run(scene));
  const duration = Math.round(performance.now() - began);
  return { id, title, ...(level !== undefined && { level }), ...finding, duration };
}

async function findingOf(
  run: () => void | Promise<void>,
): Promise<Pick<CheckResult, "outcome" | "message">> {
  try {
    await run();
    return { outcome: "passed" };
  } catch (thrown) {
    const outcome = thrown instanceof Unobservable ? "skipped" : "failed";
    return { outcome, message: sentenceOf(thrown) };
  }
}

/** What an error says, for a report. */
export function sentenceOf(thrown: unknown): string {
  return thrown instanceof Error && thrown.message !== "" ? thrown.message : String(thrown);
}

/** A value in a sentence: JSON, cut where it gets long. */
export function shown(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
