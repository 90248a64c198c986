import { expect, it } from "vitest";
import { definePlugin } from "../../../core/index.ts";
import { openPage } from "../ui/kit.ts";
import { LOOKS, violationsOf, widthOf } from "../ui/looks.ts";
import { Program } from "./attempt.ts";
import { setupLogin } from "./kit.ts";

/** Where the program of the test waits for its code: a page that a browser can go to. */
const landing = definePlugin({
  name: "landing",
  setup(gateway) {
    const policy = { access: "public", mutates: false } as const;
    gateway.route("GET", "/landing", policy, () => {
      const headers = { "content-type": "text/html" };
      return new Response("<!doctype html><title>Back</title><h1>back</h1>", { headers });
    });
  },
});

/** What somebody may call a program to make the page unreadable. */
const NAME = `Ünlesbar \u202E<b>"'&${"langerNameOhneLeerzeichen".repeat(20)}`;

async function openConsent(options: (typeof LOOKS)[number][1]) {
  const { url, endpoint } = await setupLogin({
    plugins: [landing],
    resource: { scopes: { look: "viewer", "mcp:call": "caller" } },
  });
  const redirect = `${url}/landing`;
  const program = new Program(url);
  await program.register({ client_name: NAME, redirect_uris: [redirect] });
  const start = program.start({ redirect_uri: redirect, scope: "look mcp:call" });
  const { page, complaints } = await openPage(start.href, options);
  // The pages of the provider.
  await page.locator('input[name="login"]').fill("ada");
  await page.locator('input[name="password"]').fill("any");
  await page.locator('button[type="submit"]').click();
  await page.locator('button[type="submit"]').click();
  await page.getByRole("button", { name: "Allow" }).waitFor();
  return { page, complaints, program, redirect, url, endpoint };
}

it.each(LOOKS)(
  "axe finds nothing on the page of consent in %s, and it fits",
  async (_, options) => {
    const { page, complaints } = await openConsent(options);
    expect(await violationsOf(page)).toEqual([]);
    const { content, screen } = await widthOf(page);
    expect(content).toBeLessThanOrEqual(screen);
    expect(complaints.filter((each) => !each.includes("favicon"))).toEqual([]);
  },
);

it("a person allows a program with the keyboard alone, at 390 px, and its code works", async () => {
  const { page, program, redirect, endpoint } = await openConsent(LOOKS[3][1]);
  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Deny");
  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Allow");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "back" }).waitFor();
  const code = new URL(page.url()).searchParams.get("code")!;
  const { body } = await program.redeem(code, { redirect_uri: redirect, resource: endpoint });
  expect(body.scope).toBe("look mcp:call");
});
