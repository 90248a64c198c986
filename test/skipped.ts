import type { Reporter, TestModule } from "vitest/node";

/** Says in one line which tests were left out, and why. */
export class Skipped implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = new Map<string, number>();
    for (const module of modules)
      for (const test of module.children.allTests("skipped")) {
        const result = test.result();
        const reason = (result.state === "skipped" && result.note) || "not for this machine";
        counts.set(reason, (counts.get(reason) ?? 0) + 1);
      }
    if (counts.size === 0) return;
    const reasons = [...counts].map(([reason, count]) => `${count} (${reason})`).toSorted();
    process.stdout.write(
      `Skipped tests: ${reasons.join(", ")}. CI runs those for which npm and apt have what is missing.\n`,
    );
  }
}
