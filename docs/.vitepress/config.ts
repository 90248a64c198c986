import { defineConfig } from "vitepress";
import { anchorOf } from "./anchor.ts";
import { extendMarkdown } from "./markdown.ts";
import { SIDEBAR } from "./sidebar.ts";

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
  // The index of the search is one chunk.
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    sidebar: SIDEBAR,
    outline: [2, 3],
    search: { provider: "local" },
    socialLinks: [{ icon: "github", link: "https://github.com/propylon/propylon" }],
  },
});
