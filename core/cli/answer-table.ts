import type { Json } from "../kit/types.ts";
import { isObject } from "../kit/json.ts";

/** Lists as a table, everything else as lines of `name: value`; with `json` as it came. */
export function print(answer: Json, json: boolean | undefined): void {
  if (json) return console.log(JSON.stringify(answer, null, 2));
  const { ok: _, ...members } = answer;
  const [only, ...others] = Object.values(members);
  if (others.length === 0 && Array.isArray(only)) return console.log(table(only));
  console.log(linesOf(members).join("\n"));
}

/** Rows with their members as columns; those of the first row name them. */
export function table(rows: readonly unknown[]): string {
  const all = rows.filter(isObject);
  const [first] = all;
  if (!first) return "(none)";
  const names = Object.keys(first);
  const lines = [names, ...all.map((row) => names.map((name) => textOf(row[name])))];
  const widths = names.map((_, at) => Math.max(...lines.map((line) => line[at]!.length)));
  return lines
    .map((line) =>
      line
        .map((text, at) => text.padEnd(widths[at]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function linesOf(members: Json, before = ""): readonly string[] {
  return Object.entries(members).flatMap(([name, value]) =>
    isObject(value) ? linesOf(value, `${before}${name}.`) : [`${before}${name}: ${textOf(value)}`],
  );
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.map(textOf).join(" ") || "-" : JSON.stringify(value);
}
