import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const PAGES = fileURLToPath(new URL("../../docs/plugins", import.meta.url));

/** What a reader looks for on every page, whatever else stands there. */
const SECTIONS = ["## Example", "## Options", "## Errors"];

it.each(readdirSync(PAGES))("%s has an example, options and errors, each once", (name) => {
  const headings = readFileSync(`${PAGES}/${name}`, "utf8").match(/^## .+$/gm) ?? [];
  const found = SECTIONS.map((section) =>
    headings.filter((heading) => heading.startsWith(section)),
  ).filter((each) => each.length === 0);
  expect(found).toEqual([]);
  expect(new Set(headings).size).toBe(headings.length);
});

/** In this order on every page; what else a page has to say comes where it likes. */
const ORDER = [
  "Example",
  "Options",
  "Tools",
  "Routes",
  "Hooks",
  "Metrics",
  "Errors",
  "How it works",
  "For other plugins",
].map((heading) => `## ${heading}`);

it.each(readdirSync(PAGES))("%s has its sections in the common order", (name) => {
  const headings = readFileSync(`${PAGES}/${name}`, "utf8").match(/^## .+$/gm) ?? [];
  const places = headings.map((heading) => ORDER.indexOf(heading)).filter((place) => place >= 0);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});

it.each(readdirSync(PAGES))("%s has no heading without text", (name) => {
  const text = readFileSync(`${PAGES}/${name}`, "utf8");
  expect(text).not.toMatch(/^#+ .*\n+(?:## |$(?![\s\S]))/m);
});
