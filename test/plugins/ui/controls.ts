import { readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { until } from "../../kit/until.ts";
import { openPage } from "./kit.ts";
import { startProxy } from "./reverse-proxy.ts";

const CONTROLS =
  "a[href], button:not([aria-label='Close'], [aria-label='Dismiss']), input, select, textarea, summary";

/** Something on a page that can be used. */
export interface Control {
  readonly page: string;
  readonly name: string;
  /** What it does: a request, the page it leads to, or a change of the view. */
  readonly does: string;
}

/**
 * Requests that change something are answered here: the gateway is to be there for the next control. In front of the gateway and not
 * in the browser, which would load and compile every script again for each page.
 */
function answer(request: IncomingMessage, response: ServerResponse): boolean {
  const { method, url = "" } = request;
  if (method === "GET" || !/^\/(?:_meta|api)\//.test(url) || url.includes("dry=1")) return false;
  request.resume();
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ ok: true, plugins: {}, servers: {}, changed: [] }));
  return true;
}

/** `GET /_meta/servers/:server` of the routes that the gateway lists, for `GET /_meta/servers/shop`. */
function toRoute(request: string, routes: readonly string[]): string | undefined {
  return routes.find((route) => {
    const pattern = route.replace(/:\w+/g, "[^/]+").replaceAll("**", ".*");
    return new RegExp(`^${pattern}$`).test(request);
  });
}

async function nameOf(control: Locator): Promise<string> {
  const label = await control.evaluate(
    (element: { labels?: ArrayLike<{ textContent: string }> }) => element.labels?.[0]?.textContent,
  );
  // Nothing is rendered for a moment on a busy machine; its words are there all the same.
  const text =
    (await control.getAttribute("aria-label")) ||
    label ||
    (await control.innerText()) ||
    ((await control.textContent()) ?? "");
  const name = text || (await control.getAttribute("name")) || "";
  return name.replace(/\s+/g, " ").trim().slice(0, 60);
}

/** Everything that one can see, in shadow roots too, and where the focus and the values are. */
const VIEW = `(() => {
  const roots = [document];
  for (const root of roots)
    for (const element of root.querySelectorAll("*")) if (element.shadowRoot) roots.push(element.shadowRoot);
  const fields = roots.flatMap((root) => [...root.querySelectorAll("input, select, textarea")]);
  return roots.map((root) => (root.body ?? root).innerHTML).join() + location.href +
    document.documentElement.dataset.theme + fields.map((field) => field.value + field.checked).join();
})()`;

/** Uses a control as a visitor would. */
async function useControl(control: Locator, page: Page): Promise<void> {
  const route = await control.getAttribute("data-route");
  const [tag, type] = await control.evaluate((element: { localName: string; type?: string }) => [
    element.localName,
    element.type ?? "",
  ]);
  if (tag === "select") {
    const now = await control.inputValue();
    const options = await control.locator("option").all();
    const values = await Promise.all(options.map((option) => option.getAttribute("value")));
    await control.selectOption(values.findLast((value) => value !== now) ?? null);
  } else if (tag === "textarea" || (tag === "input" && !["checkbox", "radio"].includes(type)))
    await control.fill(type === "url" ? "https://example.com/mcp" : "7");
  else if (tag === "a") await control.press("Enter");
  else await control.click();
  const confirm = page.locator("dialog footer .primary, dialog footer .danger").last();
  if (route !== null && (await confirm.isVisible())) await confirm.click();
}

/** Fills in what has to be there before something can be sent. */
async function fillRequired(page: Page): Promise<void> {
  const fields = page
    .locator(":is(dialog, main) form")
    .locator("input[required], textarea[required]");
  for (const field of await fields.all()) if (await field.isEnabled()) await field.fill("x");
}

/** What is walked over. */
export interface Walk {
  /** Of the gateway. */
  readonly url: string;
  /** Paths below `/ui`. */
  readonly views: readonly string[];
  /** The page whose navigation and header are used, too. */
  readonly whole?: string;
}

/** Uses every control of some pages: each makes its request, leads somewhere or changes the view. */
export async function useAll({ url: to, views, whole }: Walk): Promise<readonly Control[]> {
  const { url } = await startProxy(to, { answers: answer });
  const { routes } = (await (await fetch(`${url}/_meta/ui`)).json()) as {
    routes: { method: string; path: string }[];
  };
  // The route with the fewest parameters is meant: history/export is no id.
  const known = routes
    .map(({ method, path }) => `${method} ${path}`)
    .toSorted((a, b) => a.split(":").length - b.split(":").length);
  const { page, requests } = await openPage(`${url}/ui/`);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const controls: Control[] = [];
  const dead: string[] = [];
  for (const view of views) {
    const open = async (): Promise<void> => {
      await page.goto(`${url}/ui${view}`);
      await page.locator("h1").waitFor();
      await page.getByText("live", { exact: true }).waitFor();
      await page.locator('[aria-busy="true"]').first().waitFor({ state: "detached" });
    };
    await open();
    const scope = (await page.locator("dialog").isVisible()) ? "dialog" : "main";
    const all = page.locator(view === whole ? "body" : scope).locator(CONTROLS);
    // Each control finds the page as it was opened; to load it again is most of the work.
    let isUsed = false;
    for (let index = 0; ; index++) {
      if (isUsed) await open();
      isUsed = false;
      if (index >= (await all.count())) break;
      const control = all.nth(index);
      if (!(await control.isVisible())) continue;
      // One of several is chosen already; choosing another one is the next control.
      if (await control.and(page.locator("[type=radio]:checked")).isVisible()) continue;
      const name = await nameOf(control);
      const href = await control.getAttribute("href");
      const route = await control.getAttribute("data-route");
      const effect = await control.getAttribute("data-effect");
      if (href !== null && !new URL(href, `${url}/ui/`).href.startsWith(url)) {
        controls.push({ page: view, name, does: "leads to the documentation" });
        continue;
      }
      isUsed = true;
      // What is filled in is no effect of the control.
      if (route === null && (await control.getAttribute("type")) === "submit")
        await fillRequired(page);
      const before = (await page.evaluate(VIEW)) as string;
      const asked = requests.length;
      const address = page.url();
      if (route !== null) await fillRequired(page);
      await useControl(control, page);
      const didAsk = (): string | undefined =>
        requests
          .slice(asked)
          .map((request) => toRoute(request, known))
          .find((one) => one === route);
      const isAlive = async (): Promise<boolean> =>
        route === null
          ? page.url() !== address ||
            (await page.evaluate(VIEW)) !== before ||
            (await control.getAttribute("aria-current")) !== null
          : didAsk() !== undefined || (await page.locator(":user-invalid").count()) > 0;
      const isDead = await until(isAlive, 4_000).then(
        () => false,
        () => true,
      );
      if (isDead) dead.push(`${view}: ${name} (${route ?? effect ?? "link"})`);
      const does = route ?? (href === null ? `view: ${effect ?? "closes"}` : "opens a page");
      controls.push({ page: view, name, does });
    }
  }
  expect(dead).toEqual([]);
  const unknown = requests.filter(
    (request) => / \/(?:_meta|api)/.test(request) && toRoute(request, known) === undefined,
  );
  expect(unknown).toEqual([]);
  return controls;
}

/** Compares a list of all controls with the one that is kept; those that differ only in the thing that they belong to are one. */
export function expectList(file: string, controls: readonly Control[]): void {
  const text = listOf(rowsOf(controls));
  if (process.env["UPDATE_DOCS"]) writeFileSync(file, text);
  expect(readFileSync(file, "utf8")).toBe(text);
}

/** The same for the controls of some of its pages. */
export function expectRows(file: string, controls: readonly Control[]): void {
  const pages = new Set(controls.map(({ page }) => startOf(page)));
  const kept = readFileSync(file, "utf8").split("\n");
  const isOfThese = (row: string): boolean => [...pages].some((start) => row.startsWith(start));
  expect(rowsOf(controls)).toEqual(kept.filter(isOfThese));
}

const startOf = (page: string): string => `| \`${page}\` |`;

function rowsOf(controls: readonly Control[]): readonly string[] {
  const rows = controls.map(
    ({ page, name, does }) => `${startOf(page)} ${name.replaceAll("|", "\\|")} | ${does} |`,
  );
  return [...new Set(rows)];
}

function listOf(unique: readonly string[]): string {
  return `# What every control does\n\nWritten by the tests that use them all (test/plugins/ui/controls.ts).\n\n| page | control | does |\n| --- | --- | --- |\n${unique.join("\n")}\n`;
}
