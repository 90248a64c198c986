import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { FIRST_PARTY, importFirstParty } from "../../core/config/first-party.ts";
import type { AnyPlugin } from "../../core/index.ts";
import { setupGateway } from "../../core/testing/index.ts";

const PAGES = fileURLToPath(new URL("../../docs/plugins", import.meta.url));

/** Options without which a plugin would not run alone. */
const OPTIONS: Readonly<Record<string, Record<string, unknown>>> = {
  a2a: { listener: "main", workDir: ".", skills: [{ id: "count", command: ["wc", "-w"] }] },
  gating: { state: false },
  oauth: {
    provider: { issuer: "http://127.0.0.1:9", clientId: "gateway" },
    roles: { caller: "everyone" },
    secretKeys: ["a key of the tests, long enough for it"],
  },
  "oauth-resource": { issuers: { corp: { issuer: "http://127.0.0.1:9" } } },
  "team-auth": { secretKeys: ["a key of the tests, long enough for it"] },
};

/** `METHOD /path` as a page writes it, in a code span of its own. */
const ROUTE = /`((?:GET|HEAD|POST|PUT|PATCH|DELETE) \/[^`\s?]*)`/g;

it("M017, M055-M073: the routes of the running gateway are those of the plugins' pages, all of them", async () => {
  const plugins = await Promise.all(
    FIRST_PARTY.map(async (name) => {
      const { default: plugin } = (await importFirstParty(name)) as { default: AnyPlugin };
      return [plugin, OPTIONS[name] ?? {}] as const;
    }),
  );
  const folder = await mkdtemp(join(tmpdir(), "propylon-routes-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const config = { store: `sqlite:${join(folder, "gateway.db")}` };
  const { gateway } = await setupGateway({ plugins, config, client: false });
  const running = gateway
    .describe()
    .routes.map(({ plugin, method, path }) => `${plugin} ${method} ${path}`);
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
