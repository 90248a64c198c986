import axe from "axe-core";
import type { Page } from "playwright-core";
import { openPage } from "./kit.ts";

/** Ways to look at a page. */
export const LOOKS = [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["forced colours", { forcedColors: "active" }],
  ["a narrow screen", { viewport: { width: 390, height: 844 } }],
] as const;

/** What axe finds on the page as it is, one line for each rule. */
export async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate("axe.run()")) as axe.AxeResults;
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}

/** How wide the page is, and the screen, in pixels. */
export async function widthOf(page: Page): Promise<{ content: number; screen: number }> {
  const widths = "({ content: document.documentElement.scrollWidth, screen: innerWidth })";
  return (await page.evaluate(widths)) as { content: number; screen: number };
}

/** Looks at some pages. @returns what axe finds, and what is wider than the screen */
export async function problemsOf(
  url: string,
  views: readonly string[],
  options: (typeof LOOKS)[number][1],
): Promise<readonly string[]> {
  const { page } = await openPage(`${url}/ui/`, options);
  const found: string[] = [];
  for (const path of views) {
    await page.goto(`${url}/ui${path}`);
    await page.locator("h1").waitFor();
    await page.locator('main [aria-busy="true"]').first().waitFor({ state: "detached" });
    found.push(...(await violationsOf(page)).map((violation) => `${path} ${violation}`));
    const { content, screen } = await widthOf(page);
    if (content > screen) found.push(`${path} is ${content} px wide, the screen ${screen}`);
  }
  return found;
}
