import { existsSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { renderMermaidSVG } from "beautiful-mermaid";
import type { MarkdownRenderer } from "vitepress";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SOURCE = "https://github.com/propylon/propylon/blob/main/";

/** Lets the Markdown of this repository be a site as it is: its links, and its diagrams. */
export function extendMarkdown(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push("repository-links", ({ tokens, env }) => {
    const page = (env as { readonly path: string }).path;
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.attrGet("href");
      if (href) token.attrSet("href", siteLink(page, href));
    }
  });
  markdown.core.ruler.push("labelled-cells", ({ tokens }) => labelCells(tokens));
  const code = markdown.renderer.rules.code_inline!;
  // Names of options are long: a line may end behind a dot, a slash or an underscore of one.
  markdown.renderer.rules.code_inline = (...given) =>
    code(...given).replaceAll(/[./_](?=[\w<])(?![^<]*>)/g, "$&<wbr>");
  const fence = markdown.renderer.rules.fence!;
  markdown.renderer.rules.fence = (tokens, index, ...rest) => {
    const { info, content } = tokens[index];
    return info === "mermaid" ? drawing(content) : fence(tokens, index, ...rest);
  };
}

type Tokens = Parameters<MarkdownRenderer["renderer"]["render"]>[0];

/** Cells of tables with three columns and more say which column they are of: a phone shows each row as a block. */
function labelCells(tokens: Tokens): void {
  let table: Tokens[number] | undefined;
  let labels: string[] = [];
  let column = 0;
  for (const [at, token] of tokens.entries()) {
    if (token.type === "table_open") [table, labels] = [token, []];
    else if (token.type === "th_open") labels.push(tokens[at + 1].content.replaceAll("`", ""));
    else if (token.type === "thead_close" && labels.length > 2) table!.attrSet("class", "wide");
    else if (token.type === "tr_open") column = 0;
    else if (token.type === "td_open") token.attrSet("data-label", labels[column++] ?? "");
  }
}

/** A folder's README.md is its index on the site; files outside docs/ are on GitHub alone. */
function siteLink(page: string, href: string): string {
  if (/^(?:[a-z]+:|#)/.test(href)) return href;
  const [path = "", heading] = href.split("#");
  const file = relative(ROOT, join(dirname(page), path)).replaceAll("\\", "/");
  if (!existsSync(join(ROOT, file))) return href;
  const anchor = heading === undefined ? "" : `#${heading}`;
  if (!file.startsWith("docs/")) return `${SOURCE}${file}${anchor}`;
  const name = posix.basename(path) === "README.md" ? "index.md" : posix.basename(path);
  return `${posix.join(posix.dirname(path), name)}${anchor}`;
}

/** Least height of a letter in a diagram, in pixels of the screen. */
const LETTERS = 12;

/** A diagram as SVG, in the colours of the theme and without the font that the library takes from the network. */
function drawing(text: string): string {
  const svg = renderMermaidSVG(text, {
    bg: "var(--vp-c-bg)",
    fg: "var(--vp-c-text-1)",
    font: "inherit",
    transparent: true,
  });
  const style = /<style>([^]*?)<\/style>/.exec(svg)?.[1] ?? "";
  const local = style.replaceAll(/@import url\([^)]*\);/g, "");
  // As wide as it is drawn, or as the page, while its letters can be read: one that is wider scrolls by itself.
  const [, width = "0"] = /viewBox="0 0 ([\d.]+) /.exec(svg) ?? [];
  const letters = [...svg.matchAll(/font-size="([\d.]+)"/g)].map(([, size]) => Number(size));
  const least = Math.ceil((Number(width) * LETTERS) / Math.min(...letters));
  const size = `style="width: ${Math.max(Number(width), least)}px; min-width: ${least}px; `;
  const drawn = svg
    .replace(style, local)
    .replace(/ width="[^"]*" height="[^"]*" style="/, ` ${size}`);
  return `<div v-pre class="diagram">${drawn}</div>\n`;
}
