import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { DefaultTheme, MarkdownEnv, MarkdownRenderer } from "vitepress";
import { KEYWORDS } from "./keywords.ts";

const DOCS = fileURLToPath(new URL("..", import.meta.url));

/** Nobody looks here for how to do something, and the names in them are those of everything. */
const LEFT_OUT = /^(?:decisions\/|reference\/requirements\.md$)/;

type SearchOptions = DefaultTheme.LocalSearchOptions;

/**
 * The search of the site: guides first, and the words of `keywords.ts`.
 *
 * VitePress writes these functions into the page as text, so each stands for itself and uses nothing of this module.
 */
export const SEARCH: SearchOptions = {
  _render: render,
  miniSearch: {
    options: { fields: ["title", "titles", "text", "keywords"], extractField: fieldOf },
    searchOptions: {
      boost: { keywords: 8, title: 4, titles: 1, text: 1 },
      boostDocument,
      // A letter more or less makes another word of a short one: SSO is not SSE.
      fuzzy: (term: string) => (term.length > 5 ? 0.2 : false),
      prefix: (term: string) => term.length > 2,
    },
  },
};

/** The first section of a page carries its keywords between marks, as VitePress hands over texts and nothing else. */
async function render(text: string, env: MarkdownEnv, markdown: MarkdownRenderer): Promise<string> {
  const page = relative(DOCS, env.path).replaceAll("\\", "/");
  if (LEFT_OUT.test(page)) return "";
  const html = await markdown.renderAsync(text, env);
  const words = KEYWORDS[page];
  return words === undefined ? html : html.replace("</h1>", `</h1><p>\u0001${words}\u0001</p>`);
}

function fieldOf(section: Readonly<Record<string, string>>, field: string): string {
  const [before = "", words = "", after = ""] = (section["text"] ?? "").split("\u0001");
  if (field === "keywords") return words;
  return field === "text" ? before + after : section[field];
}

function boostDocument(id: string): number {
  if (/^\/(?:guide\/|recipes\/|reference\/deployment)/.test(id)) return 3;
  if (/^\/(?:learn|plugins)\//.test(id)) return 2;
  if (/^\/(?:reference\/plugin-api|reliability|benchmarks|one-call|architecture)/.test(id))
    return 0.1;
  return 1;
}
