import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBrowser } from "../fixtures/chromium.ts";
import { linksTo, measured, rightAndWidth, tooWide } from "../fixtures/page-layout.mjs";
import { makeFolder } from "../kit/folder.ts";

/** What people type, and the page that they want. */
const WANTED: readonly (readonly [words: string, page: string])[] = [
  ["healthcheck", "reference/deployment"],
  ["health check", "reference/deployment"],
  ["liveness probe", "reference/deployment"],
  ["kubernetes", "reference/deployment"],
  ["behind nginx", "reference/deployment"],
  ["reverse proxy", "reference/deployment"],
  ["https", "reference/deployment"],
  ["tls", "reference/deployment"],
  ["sso", "guide/single-sign-on"],
  ["entra", "guide/single-sign-on"],
  ["keycloak", "guide/single-sign-on"],
  ["okta", "guide/single-sign-on"],
  ["google login", "guide/single-sign-on"],
  ["timeout", "plugins/gating"],
  ["timeouts", "plugins/gating"],
  ["secrets", "guide/secrets"],
  ["vault", "guide/secrets"],
  ["limit per user", "plugins/ratelimit"],
  ["rate limit per user", "plugins/ratelimit"],
  ["run with docker", "guide/docker"],
  ["docker", "guide/docker"],
  ["claude desktop", "guide/connect"],
  ["cursor", "guide/connect"],
  ["vscode", "guide/connect"],
  ["windsurf", "guide/connect"],
  ["open webui", "guide/connect"],
  ["n8n", "guide/connect"],
  ["langchain", "guide/connect"],
  ["windows", "guide/upgrade"],
  ["upgrade", "guide/upgrade"],
  ["approve tool call", "recipes/stop-a-tool"],
  ["human in the loop", "recipes/stop-a-tool"],
  ["caching", "reference/deployment"],
  ["audit log", "guide/access"],
  ["api key", "guide/access"],
  ["redis", "plugins/redis"],
  ["postgres", "plugins/postgres"],
  ["prometheus grafana", "plugins/metrics"],
  ["metrics", "plugins/metrics"],
  ["openapi", "plugins/openapi"],
  ["mcpo", "guide/from-mcpo"],
  ["proxy", "reference/deployment"],
  ["retry", "plugins/breaker"],
  ["logs", "reference/deployment"],
  ["install", "guide/start"],
  ["error", "guide/troubleshooting"],
  ["high availability", "guide/replicas"],
  ["too many tools", "recipes/cut-my-context"],
  ["disable tool", "recipes/stop-a-tool"],
  ["share with my team", "recipes/share-servers"],
  ["custom tool", "guide/write-a-plugin"],
];

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

let folder: string;
let server: Server | undefined;
let base: string;
beforeAll(async () => {
  folder = makeFolder();
  const built = ["node_modules/vitepress/bin/vitepress.js", "build", "docs", "--outDir", folder];
  await promisify(execFile)(process.execPath, built, { maxBuffer: 1e7 });
  server = createServer((request, response) => {
    const path = new URL(request.url!, "http://site").pathname.replace(/\/$/, "/index.html");
    readFile(join(folder, decodeURIComponent(path))).then(
      (body) => response.setHeader("content-type", TYPES[extname(path)] ?? "font/woff2").end(body),
      () => response.writeHead(404).end(),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
// There is none if the site could not be built: that failure is the one to show.
afterAll(() => server?.close());

async function open(path: string, width = 1280): Promise<Page> {
  const browser = await openBrowser();
  const page = await browser.newPage({ viewport: { width, height: 900 } });
  await page.goto(`${base}/${path}`, { waitUntil: "networkidle" });
  return page;
}

describe("the search of the site", () => {
  let page: Page;
  beforeAll(async () => {
    page = await open("index.html");
    await page.keyboard.press("/");
    await page.locator("#localsearch-input").waitFor();
  });

  it.for(WANTED)('"%s" finds %s first', async ([words, wanted]) => {
    expect((await hitsOf(page, words))[0]).toBe(wanted);
  });

  it("has no decision and no requirement, and names of the kit last", async () => {
    expect(await hitsOf(page, "M106")).toEqual([]);
    const hits = await hitsOf(page, "timeoutSignal");
    expect(hits[0]).toBe("reference/plugin-api");
    expect((await hitsOf(page, "buckets")).indexOf("reference/plugin-api")).not.toBe(0);
  });
});

/** The pages of the hits, in their order. The field is emptied before, so that no hit is one of other words. */
async function hitsOf(page: Page, words: string): Promise<string[]> {
  const [field, hits] = [page.locator("#localsearch-input"), page.locator("a.result")];
  await field.fill("");
  await expect.poll(() => hits.count()).toBe(0);
  await field.fill(words);
  await page.locator("a.result, .no-results").first().waitFor();
  const links: string[] = await hits.evaluateAll(linksTo);
  return links.map((link) => link.replace(/^[./]*/, "").replace(/\.html.*$/, ""));
}

/** One page of each kind, and those with the widest tables, the longest commands and the pictures. */
const SAMPLE = [
  "index",
  "guide/start",
  "guide/config",
  "guide/access",
  "learn/gateway",
  "recipes/share-servers",
  "plugins/gating",
  "plugins/admin",
  "reference/config",
  "reference/deployment",
  "architecture",
  "one-call",
  "reliability",
  "benchmarks",
];

describe.each([390, 1280])("at a width of %d", (width) => {
  it.each(SAMPLE)("%s does not scroll sideways, and cuts no command", async (name) => {
    const page = await open(`${name}.html`, width);
    const wide = await page.evaluate(tooWide);
    await page.close();
    expect(wide).toEqual({ over: 0, cut: [] });
  });

  it("the meaning of every option is on the screen, and wide enough to be read", async () => {
    const page = await open("reference/config.html", width);
    const cells: Cell[] = await page
      .locator('td[data-label="meaning"]:not(:empty)')
      .evaluateAll(rightAndWidth);
    await page.close();
    expect(cells.length).toBeGreaterThan(200);
    expect(cells.filter(({ right, width: wide }) => right > width || wide < 200)).toEqual([]);
  });

  it("letters of the house are 12 px and more, and no line runs through a box", async () => {
    const page = await open("architecture.html", width);
    const pictures: Picture[] = await page.locator(".diagram svg").evaluateAll(measured);
    await page.close();
    expect(pictures).toHaveLength(3);
    expect(pictures.filter(({ letters }) => letters < 12)).toEqual([]);
    expect(pictures.map(({ lines }) => lines > 4)).toEqual([true, true, false]);
    // The third is the way of a call, which is wider than a phone: it scrolls by itself.
    expect(pictures.slice(0, 2).map(({ overflow }) => overflow)).toEqual([0, 0]);
    expect(pictures.flatMap(({ crossed }) => crossed)).toEqual([]);
  });
});

interface Picture {
  /** Height of the smallest, in pixels of the screen. */
  readonly letters: number;
  readonly overflow: number;
  readonly lines: number;
  /** Each line that runs through a box. */
  readonly crossed: readonly string[];
}

interface Cell {
  readonly right: number;
  readonly width: number;
}
