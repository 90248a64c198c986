import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { expect } from "vitest";

const NOTE =
  "<!-- Written by test/contract/*.test.ts; change the code, then run it with UPDATE_DOCS=1. -->";

/** A generated Markdown page from its blocks. */
export const page = (title: string, ...blocks: readonly string[]): string =>
  `${[`# ${title}`, NOTE, ...blocks].join("\n\n")}\n`;
const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** A Markdown table; aligned as the formatter does it, on pages that have more than generated text. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  { aligned = false } = {},
): string {
  const cells = [head, ...rows].map((each) => each.map(cell));
  const widths = head.map((_, at) =>
    aligned ? Math.max(...cells.map((row) => row[at]!.length)) : 0,
  );
  const line = (row: readonly string[]): string =>
    `| ${row.map((text, at) => text.padEnd(widths[at]!)).join(" | ")} |`;
  const rule = aligned
    ? line(widths.map((width) => "-".repeat(width)))
    : `|${head.map(() => "---|").join("")}`;
  return [line(cells[0]!), rule, ...cells.slice(1).map(line)].join("\n");
}

/** `UPDATE_DOCS=1` writes a page of docs/reference; otherwise a stale one fails. */
export function expectPage(name: string, content: string): void {
  expectText(`docs/reference/${name}`, () => content);
}

/**
 * The same for a page of which only some parts are generated.
 *
 * @param make the whole text, from the one that is there
 */
export function expectText(path: string, make: (text: string) => string): void {
  const file = new URL(`../../${path}`, import.meta.url);
  const isPage = existsSync(file);
  const content = make(isPage ? readFileSync(file, "utf8") : "");
  if (process.env["UPDATE_DOCS"] === "1") writeFileSync(file, content);
  expect(readFileSync(file, "utf8"), `${path} is stale: run this test with UPDATE_DOCS=1`).toBe(
    content,
  );
}
