import axe from "axe-core";
import type { BrowserContextOptions, Page } from "playwright-core";
import { openPage } from "./kit.ts";

const WIDE = { width: 1280, height: 800 };

/** Ways to look at a page. Style sheets change colours alone for a scheme, and for forced colours. */
export const LOOKS = [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["forced colours", { forcedColors: "active" }],
  ["a narrow screen", { viewport: { width: 390, height: 844 } }],
] as const;

/** The rules of axe that look at colours. */
const ABOUT_COLOURS = ["color-contrast", "link-in-text-block"];

/**
 * What axe finds on the page as it is, one line for each rule.
 *
 * @param rules default: all
 */
export async function violationsOf(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Half a megabyte is parsed once for a page that stays open; nobody reads what has no fault.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe.source);
  const options = { resultTypes: ["violations"], ...(rules && { runOnly: rules }) };
  const run = `axe.run(${JSON.stringify(options)})`;
  const { violations } = (await page.evaluate(run)) as axe.AxeResults;
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}

/** How wide the page is, and the screen, in pixels. */
export async function widthOf(page: Page): Promise<{ content: number; screen: number }> {
  const widths = "({ content: document.documentElement.scrollWidth, screen: innerWidth })";
  return (await page.evaluate(widths)) as { content: number; screen: number };
}

/** What axe finds on the page that is open, and whether it is wider than the screen. */
async function problemsHere(
  page: Page,
  name: string,
  rules?: readonly string[],
): Promise<string[]> {
  const found = (await violationsOf(page, rules)).map((violation) => `${name} ${violation}`);
  const { content, screen } = await widthOf(page);
  if (content > screen) found.push(`${name} is ${content} px wide, the screen ${screen}`);
  return found;
}

/** The same in every one of {@link LOOKS}, without leaving the page: what is open on it stays open. */
export async function problemsInAllLooks(page: Page, name: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [look, options] of LOOKS) {
    const { viewport, ...media }: BrowserContextOptions = options;
    await page.emulateMedia({ colorScheme: "light", forcedColors: "none", ...media });
    await page.setViewportSize(viewport ?? WIDE);
    const rules = look === "dark" || look === "forced colours" ? ABOUT_COLOURS : undefined;
    found.push(...(await problemsHere(page, `${name}, ${look}:`, rules)));
  }
  return found;
}

/** Looks at some pages. @returns what axe finds, and what is wider than the screen */
export async function problemsOf(
  url: string,
  views: readonly string[],
): Promise<readonly string[]> {
  const { page } = await openPage(`${url}/ui/`);
  const found: string[] = [];
  for (const path of views) {
    await openView(page, `${url}/ui${path}`);
    found.push(...(await problemsInAllLooks(page, path)));
  }
  return found;
}

/** Opens a view, and waits until everything is there. */
export async function openView(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await page.locator("h1").waitFor();
  await page.locator('main [aria-busy="true"]').first().waitFor({ state: "detached" });
}
