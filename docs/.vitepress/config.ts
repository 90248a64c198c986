import { relative } from "node:path";
import { defineConfig } from "vitepress";
import { anchorOf } from "./anchor.ts";
import { extendMarkdown } from "./markdown.ts";
import { SEARCH } from "./search.ts";
import { SIDEBAR } from "./sidebar.ts";

/** Pages without a list of their headings beside them: the first one, and those with tables of many columns. */
const WITHOUT_ASIDE = /^(?:index|reliability|benchmarks)\.md$/;

/** `npm run docs`: the Markdown of this folder as a site that needs no server of its own and no network. */
export default defineConfig({
  title: "Propylon",
  description: "A gateway for agent teams, made of plugins.",
  lang: "en",
  // The built site works below any path.
  base: "./",
  rewrites: { "README.md": "index.md", "decisions/README.md": "decisions/index.md" },
  markdown: {
    anchor: { slugify: anchorOf },
    languageAlias: { caddyfile: "txt" },
    config: extendMarkdown,
  },
  transformPageData: ({ relativePath }) =>
    WITHOUT_ASIDE.test(relativePath) ? { frontmatter: { aside: false, pageClass: "figures" } } : {},
  buildEnd: ({ outDir }) => {
    const folder = relative(process.cwd(), outDir);
    process.stdout.write(`The site is in ${folder}: open index.html, or serve it.\n`);
  },
  // The index of the search is one chunk.
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    sidebar: SIDEBAR,
    outline: [2, 3],
    search: { provider: "local", options: SEARCH },
    socialLinks: [{ icon: "github", link: "https://github.com/propylon/propylon" }],
  },
});
