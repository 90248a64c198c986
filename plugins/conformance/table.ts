import { countOf, isConformant, type CheckResult, type Report } from "./report.ts";

const MARKS = { passed: "ok", failed: "FAILED", skipped: "skipped" } as const;

/** A report for people: a line for every check, the reason below where it did not pass, and what it comes to. */
export function tableOf(report: Report): string {
  const widths = {
    mark: Math.max(...Object.values(MARKS).map(({ length }) => length)),
    id: Math.max(0, ...report.results.map(({ id }) => id.length)),
  };
  const lines = report.results.flatMap((result) => linesOf(result, widths));
  return [
    `${report.kit} conformance of ${plain(report.target)}`,
    "",
    ...lines,
    "",
    summaryOf(report),
  ].join("\n");
}

function linesOf(
  { id, title, level, outcome, message }: CheckResult,
  widths: { readonly mark: number; readonly id: number },
): readonly string[] {
  const start = level === undefined ? "" : `${level}  `;
  const line = `  ${start}${MARKS[outcome].padEnd(widths.mark)}  ${id.padEnd(widths.id)}  ${title}`;
  if (message === undefined) return [line];
  return [line, `${" ".repeat(start.length + widths.mark + widths.id + 6)}${plain(message)}`];
}

/** What was asked for, and whether it holds. */
export function summaryOf(report: Report): string {
  const { levels, results } = report;
  const counts = (["passed", "failed", "skipped"] as const)
    .map((outcome) => `${countOf(results, outcome)} ${outcome}`)
    .join(", ");
  if (!levels) return `${verdictOf(report)}: ${counts}.`;
  if (levels.reached === 0)
    return `Below level 1, which every runtime needs to be deployed: ${counts}.`;
  const wanted = isConformant(report) ? "" : `, level ${levels.asked} was asked for`;
  return `Level ${levels.reached} reached${wanted}: ${counts}.`;
}

/** What was not seen is not conformant: a server without tools would be. */
function verdictOf(report: Report): string {
  const { results } = report;
  if (!isConformant(report)) return "Not conformant";
  const skipped = countOf(results, "skipped");
  if (skipped === 0) return "Conformant";
  return `Nothing failed, but ${skipped} of ${results.length} checks could not be made`;
}

/** What a runtime says is shown on a terminal: control characters could rewrite the lines above. */
function plain(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u001F\u007F-\u009F]+/g, " ");
}
