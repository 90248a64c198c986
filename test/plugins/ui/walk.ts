import type { Page } from "playwright-core";

/** What a screen reader says of the element that has the focus: its role and its name. */
export const FOCUS = `(() => {
  const element = document.activeElement;
  const role = element.getAttribute("role") || element.type || element.localName;
  const name = element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent;
  return role + " " + name.replace(/\\s+/g, " ").trim();
})()`;

/** More steps than any way has: a focus that is caught somewhere does not come out. */
export const MAX_STEPS = 200;

/** Goes on from control to control until the focus is where it should be, and records where it was. */
export function walkerOf(page: Page, way: string[]): (to: RegExp) => Promise<void> {
  return async (to) => {
    for (let step = 0; step < MAX_STEPS; step++) {
      await page.keyboard.press("Tab");
      const here = (await page.evaluate(FOCUS)) as string;
      way.push(here);
      if (to.test(here)) return;
    }
    throw new Error(
      `${String(to)} is not reached: ${way
        .slice(-20)
        .map((here) => here.slice(0, 60))
        .join(", ")}`,
    );
  };
}
