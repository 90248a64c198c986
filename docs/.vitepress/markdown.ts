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
  const fence = markdown.renderer.rules.fence!;
  markdown.renderer.rules.fence = (tokens, index, ...rest) => {
    const { info, content } = tokens[index];
    return info === "mermaid" ? drawing(content) : fence(tokens, index, ...rest);
  };
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
  // As wide as the page, in the proportions of its viewBox.
  const drawn = svg.replace(style, local).replace(/ width="[^"]*" height="[^"]*"/, "");
  return `<div v-pre class="diagram">${drawn}</div>\n`;
}
