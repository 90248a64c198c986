import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { DefaultTheme } from "vitepress";

const DOCS = fileURLToPath(new URL("..", import.meta.url));

/** Every page of the site, by who reads it and what for. Paths are those of the Markdown files. */
export const SIDEBAR: DefaultTheme.SidebarItem[] = [
  {
    text: "Learn",
    items: pages(
      "guide/start",
      "guide/connect",
      "learn/gateway",
      "learn/plugin",
      "learn/team",
      "learn/team-auth",
    ),
  },
  { text: "Recipes", items: pages(...pagesIn("recipes")) },
  {
    text: "Guides",
    items: [
      group(
        "Run",
        "guide/config",
        "guide/access",
        "guide/single-sign-on",
        "guide/server-logins",
        "guide/docker",
        "guide/secrets",
        "guide/deploy",
        "guide/survive",
        "guide/replicas",
        "guide/web-interface",
        "guide/team-console",
        "guide/tracing",
      ),
      group(
        "Agents",
        "guide/agents",
        "guide/models",
        "guide/a2a",
        "guide/queue",
        "guide/conformance",
      ),
      group(
        "Team auth",
        "guide/team-auth-issuer",
        "guide/team-auth-host",
        "guide/team-auth-operator",
        "guide/team-auth-migration",
      ),
      group("Extend", "guide/write-a-plugin", "guide/testing", "guide/build"),
      group("Move", "guide/from-mcpo", "guide/from-source", "guide/upgrade", "guide/compare"),
    ],
  },
  { text: "Plugins", collapsed: true, items: pages(...pagesIn("plugins")) },
  { text: "Reference", collapsed: true, items: pages(...pagesIn("reference")) },
  {
    text: "Explain",
    collapsed: true,
    items: [
      ...pages("architecture", "one-call", "reliability", "benchmarks"),
      { text: "Decisions", collapsed: true, items: pages(...pagesIn("decisions")) },
    ],
  },
  { text: "Troubleshooting", items: pages("guide/troubleshooting") },
];

function group(text: string, ...paths: readonly string[]): DefaultTheme.SidebarItem {
  return { text, items: pages(...paths) };
}

function pages(...paths: readonly string[]): DefaultTheme.SidebarItem[] {
  return paths.map((path) => ({ text: titleOf(path), link: `/${path.replace(/README$/, "")}` }));
}

function pagesIn(folder: string): string[] {
  const names = readdirSync(`${DOCS}/${folder}`).filter((name) => name.endsWith(".md"));
  return names.toSorted().map((name) => `${folder}/${name.replace(/\.md$/, "")}`);
}

/** The heading of a page: it is named in one place. */
function titleOf(path: string): string {
  const title = /^# (.+)$/m.exec(readFileSync(`${DOCS}/${path}.md`, "utf8"))?.[1];
  if (title === undefined) throw new Error(`docs/${path}.md has no heading.`);
  return title.replaceAll("`", "");
}
