import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { FIRST_PARTY } from "../../core/gateway/check/first-party.ts";
import { runningRoutes } from "./running-routes.ts";

const PAGES = fileURLToPath(new URL("../../docs/plugins", import.meta.url));

/** `METHOD /path` as a page writes it, in a code span of its own. */
const ROUTE = /`((?:GET|HEAD|POST|PUT|PATCH|DELETE) \/[^`\s?]*)`/g;

it("M017, M055-M073: the routes of the running gateway are those of the plugins' pages, all of them", async () => {
  const running = (await runningRoutes()).map(
    ({ plugin, method, path }) => `${plugin} ${method} ${path}`,
  );
  const documented = await Promise.all(
    FIRST_PARTY.map(async (name) => {
      const text = await readFile(`${PAGES}/${name}.md`, "utf8");
      // An example names a server; a route names a parameter.
      const routes = [...text.matchAll(ROUTE)].map(([, route]) => route!);
      return routes.filter((route) => !route.includes("<")).map((route) => `${name} ${route}`);
    }),
  );
  expect([...new Set(documented.flat())].toSorted(byText)).toEqual(
    [...new Set(running)].toSorted(byText),
  );
});

it("has a page for every plugin", async () => {
  expect(await readdir(PAGES)).toEqual(
    expect.arrayContaining(FIRST_PARTY.map((name) => `${name}.md`)),
  );
});

const byText = (left: string, right: string): number => left.localeCompare(right);
