import { readFileSync, writeFileSync } from "node:fs";
import { expect } from "vitest";

const NOTE =
  "<!-- Written by test/contract/*.test.ts; change the code, then run it with UPDATE_DOCS=1. -->";

/** A generated Markdown page from its blocks. */
export const page = (title: string, ...blocks: readonly string[]): string =>
  `${[`# ${title}`, NOTE, ...blocks].join("\n\n")}\n`;
const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** A Markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");
}

/** `UPDATE_DOCS=1` writes a page of docs/reference; otherwise a stale one fails. */
export function expectPage(name: string, content: string): void {
  const file = new URL(`../../docs/reference/${name}`, import.meta.url);
  if (process.env["UPDATE_DOCS"] === "1") writeFileSync(file, content);
  expect(
    readFileSync(file, "utf8"),
    `docs/reference/${name} is stale: run this test with UPDATE_DOCS=1`,
  ).toBe(content);
}
