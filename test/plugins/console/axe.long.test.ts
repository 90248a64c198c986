import { expect, it } from "vitest";
import { openPage } from "../ui/kit.ts";
import { problemsOf } from "../ui/looks.ts";
import { startTeams, TEAM_PAGES } from "../ui/pages.ts";
import { PATIENCE } from "../../fixtures/ci.ts";

it(
  "2: axe finds nothing on any page of the console, in any look",
  { timeout: PATIENCE * 240_000 },
  async () => {
    const { url } = await startTeams();
    expect(await problemsOf(url, TEAM_PAGES)).toEqual([]);
  },
);

/** What has the focus, in a shadow root too. */
const FOCUS = `(() => {
  let element = document.activeElement;
  while (element.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element.getAttribute("aria-label") || element.labels?.[0]?.textContent || element.textContent;
})()`;

it("20: a workspace is made, a team attached and an agent talked to with the keyboard alone", async () => {
  const { url } = await startTeams();
  const { page, complaints } = await openPage(`${url}/ui/`);
  await page.getByText("live", { exact: true }).waitFor();
  const tabTo = async (name: RegExp): Promise<void> => {
    await expect
      .poll(async () => {
        await page.keyboard.press("Tab");
        return page.evaluate(FOCUS);
      })
      .toMatch(name);
  };
  await tabTo(/^New workspace$/);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "New workspace" }).waitFor();
  await tabTo(/^Name/);
  await page.keyboard.type("Zoo");
  await page.keyboard.press("Enter");
  await page.getByText("Workspace created.").waitFor();
  await page.goto(`${url}/ui/panels/console/chat`);
  await page.getByLabel("Workspace", { exact: true }).waitFor();
  await tabTo(/^Workspace$/);
  await page.keyboard.type("Zoo");
  await page.getByText("No teams attached to this workspace.").waitFor();
  await tabTo(/^workspace settings → Attached Teams\.$/);
  await page.keyboard.press("Enter");
  await expect.poll(() => page.evaluate(FOCUS)).toContain("Kottos");
  await page.keyboard.press("Space");
  await tabTo(/^Save$/);
  await page.keyboard.press("Enter");
  await page.getByText("Saved.").waitFor();
  await expect.poll(() => page.getByLabel("Message", { exact: true }).isEnabled()).toBe(true);
  await page.getByLabel("Agent", { exact: true }).focus();
  await page.keyboard.type("Kottos › m");
  await tabTo(/^Message$/);
  await page.keyboard.type("hello");
  await page.keyboard.press("Control+Enter");
  await page.getByText("mentor agent: heard hello").waitFor();
  expect(complaints).toEqual([]);
});
