const NOTE =
  "<!-- Written by test/contract/reference.test.ts; change the code, then run it with UPDATE_DOCS=1. -->";

/** A generated Markdown page from its blocks. */
export const page = (title: string, ...blocks: readonly string[]): string =>
  `${[`# ${title}`, NOTE, ...blocks].join("\n\n")}\n`;
const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** A Markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");
}
