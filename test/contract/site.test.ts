import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { DefaultTheme } from "vitepress";
import { expect, it } from "vitest";
import { anchorOf } from "../../docs/.vitepress/anchor.ts";
import { SIDEBAR } from "../../docs/.vitepress/sidebar.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PAGES = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md") && !name.startsWith(".vitepress"))
  .map((name) => `docs/${name.replaceAll("\\", "/")}`);
const BESIDE = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

it("the sidebar of the site names every page once", () => {
  const linked = SIDEBAR.flatMap(linksOf).map((link) => link.replace(/\/$/, "/README"));
  const pages = PAGES.map((page) => page.slice("docs".length, -".md".length));
  expect(linked.toSorted()).toEqual(pages.filter((page) => page !== "/README").toSorted());
});

it("each person has a group in the sidebar", () => {
  expect(SIDEBAR.map(({ text }) => text)).toEqual([
    "Learn",
    "Recipes",
    "Guides",
    "Plugins",
    "Reference",
    "Explain",
    "Troubleshooting",
  ]);
});

it.each([...BESIDE, ...PAGES])("%s: every link leads to a file and heading", (page) => {
  expect(brokenLinks(page)).toEqual([]);
});

it("finds a link to a page or a heading that does not exist", () => {
  expect(isBroken("docs/README.md", "guide/none.md")).toBe(true);
  expect(isBroken("docs/README.md", "guide/start.md#none")).toBe(true);
  expect(isBroken("docs/README.md", "guide/start.md#the-command-line")).toBe(false);
});

function linksOf({ link, items = [] }: DefaultTheme.SidebarItem): string[] {
  return [...(link === undefined ? [] : [link]), ...items.flatMap(linksOf)];
}

function brokenLinks(page: string): string[] {
  const text = proseOf(page).replaceAll(/`[^`\n]*`/g, "");
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
  return links.filter((link) => !/^[a-z]+:/.test(link) && isBroken(page, link));
}

function isBroken(page: string, link: string): boolean {
  const [path, heading] = link.split("#");
  const file = path === "" ? page : relative(ROOT, resolve(ROOT, dirname(page), path!));
  if (!existsSync(join(ROOT, file))) return true;
  if (heading === undefined) return false;
  const headings = [...proseOf(file).matchAll(/^#+ (.*)$/gm)].map(([, title]) => title!);
  return !headings.map(anchorOf).includes(heading);
}

/** A page without its code blocks: a comment of a shell is no heading. */
function proseOf(page: string): string {
  return readFileSync(join(ROOT, page), "utf8").replaceAll(/^```[^]*?^```/gm, "");
}
