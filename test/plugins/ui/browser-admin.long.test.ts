import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { PATIENCE } from "../../fixtures/ci.ts";
import { startDirectory } from "./pages.ts";
import { FOCUS, walkerOf } from "./walk.ts";

const TEAM = "a3f10000-0000-4000-8000-00000000000a";

const rowOf = (page: Page, key: string): Locator => page.locator(`tr[data-row="${key}"]`);
const dialogOf = (page: Page): Locator => page.getByRole("dialog");

/** What the page holds anywhere that a script, or somebody who looks, can see. */
function everything(page: Page): Promise<string> {
  return page.evaluate(
    `document.documentElement.outerHTML + location.href + JSON.stringify(history.state) + JSON.stringify(localStorage) +
      JSON.stringify(sessionStorage) + [...document.querySelectorAll("input, textarea")].map((field) => field.value)`,
  ) as Promise<string>;
}

it("T040, T052, T143, T144, 14, 19: a token is minted for exactly the libraries that its user owns or manages, and shown once", async () => {
  const { url, ask, page, complaints } = await startDirectory();
  for (const id of ["ada", "bob"]) await ask("POST", "users", { id });
  for (const uid of ["owned", "managed", "read"])
    await ask("POST", "libraries", { uid, owner: "bob" });
  await ask("POST", "libraries", { uid: "foreign" });
  await ask("POST", "memberships", { user: "ada", library: "owned", role: "owner" });
  await ask("POST", "memberships", { user: "ada", library: "managed", role: "manager" });
  await ask("POST", "memberships", { user: "ada", library: "read", role: "reader" });
  await page.reload();

  const mint = page.getByRole("button", { name: "Mint a token" });
  const pick = async (user: string): Promise<string[]> => {
    await dialogOf(page).getByLabel("User").selectOption(user);
    const boxes = dialogOf(page).getByRole("checkbox");
    await boxes.first().waitFor();
    return boxes.evaluateAll((all) =>
      all.map(
        (box) => (box as never as { labels: { textContent: string }[] }).labels[0]!.textContent,
      ),
    );
  };
  await mint.click();
  expect(await pick("bob")).toEqual(["managed", "owned", "read"]);
  expect(await pick("ada")).toEqual(["managed", "owned"]);
  await dialogOf(page).getByLabel("owned").check();
  await dialogOf(page).getByLabel("managed").check();
  await dialogOf(page).getByLabel("name").fill("laptop");
  // Whom it hits, before it does.
  const hits = dialogOf(page).getByRole("status");
  await hits.getByText("Its holder is ada, and sees:").waitFor();
  expect(await hits.getByRole("listitem").allInnerTexts()).toEqual(["owned", "managed"]);
  await dialogOf(page).getByRole("button", { name: "Mint", exact: true }).click();

  const shown = page.getByRole("region", { name: "The new token of ada" });
  const secret = await shown.innerText();
  expect(secret).toMatch(/^ppt_/);
  const { tokens } = (await ask("GET", "tokens?user=ada")) as { tokens: { libraries: string[] }[] };
  expect(tokens).toMatchObject([{ name: "laptop", libraries: ["owned", "managed"] }]);

  // Neither a second page, nor the page after a reload, nor the way back and forth has it.
  const second = await page.context().newPage();
  await second.goto(`${url}/ui/panels/team-auth/tokens`);
  await second.getByText("laptop").waitFor();
  expect(await everything(second)).not.toContain(secret);
  await page.goto(`${url}/ui/panels/team-auth/users`);
  await page.goBack();
  await page.getByText("laptop").waitFor();
  expect(await everything(page)).not.toContain(secret);
  await page.reload();
  await page.getByText("laptop").waitFor();
  expect(await everything(page)).not.toContain(secret);
  // It is a token all the same; a new one in its place is closed and gone.
  const seen = await fetch(`${url}/_meta/team-auth/tokens`, {
    headers: { authorization: `Bearer ${secret}` },
  });
  expect(seen.status).toBe(200);
  await page.getByRole("button", { name: "Replace laptop" }).click();
  await dialogOf(page).getByText("No call of theirs runs now.").waitFor();
  await dialogOf(page).getByText("laptop of ada: owned, managed").waitFor();
  await dialogOf(page).getByRole("button", { name: "Replace laptop of ada" }).click();
  const next = page.getByRole("region", { name: "The new token laptop of ada" });
  const replaced = await next.innerText();
  expect(replaced).not.toBe(secret);
  await page.getByRole("button", { name: "I have copied it" }).click();
  await next.waitFor({ state: "detached" });
  expect(await everything(page)).not.toContain(replaced);
  await page.getByRole("link", { name: "Users" }).click();
  await page.goBack();
  await page.getByRole("button", { name: "Mint a token" }).waitFor();
  expect(await everything(page)).not.toContain(replaced);
  expect(complaints.filter((text) => !text.includes("401"))).toEqual([]);
});

it("19: users, roles, libraries, teams, keys and accounts are changed, and each change says whom it hits", async () => {
  const { url, ask, page, complaints } = await startDirectory();
  const open = async (view: string): Promise<void> => {
    await page.goto(`${url}/ui/panels/team-auth/${view}`);
    await page.locator('main [aria-busy="true"]').first().waitFor({ state: "detached" });
  };
  const press = (name: string): Promise<void> =>
    page.getByRole("button", { name, exact: true }).click();
  const confirm = async (name: string, ...says: readonly string[]): Promise<void> => {
    for (const text of says) await dialogOf(page).getByText(text).first().waitFor();
    await dialogOf(page).locator("footer").getByRole("button", { name, exact: true }).click();
    await dialogOf(page).waitFor({ state: "detached" });
  };
  const fill = (label: string, text: string): Promise<void> =>
    dialogOf(page).getByLabel(label, { exact: true }).fill(text);
  const choose = (label: string, value: string): Promise<unknown> =>
    dialogOf(page).getByLabel(label, { exact: true }).selectOption({ label: value });

  await open("users");
  await page.getByText("There is no user yet. Add one.").waitFor();
  await press("Add a user");
  await dialogOf(page).getByLabel("id").fill("ada");
  await confirm("Add a user");
  await rowOf(page, "ada").waitFor();

  await open("libraries");
  await press("Add a library");
  await fill("uid", "atlas");
  await confirm("Add a library");
  await rowOf(page, "atlas").waitFor();

  await open("memberships");
  await press("Grant a role");
  await choose("user", "ada");
  await choose("library", "atlas");
  await choose("role", "manager");
  await confirm("Grant a role", "ada decides who reads it, and may put it into tokens: atlas");
  await rowOf(page, "atlas ada manager").waitFor();
  await ask("POST", "tokens", { user: "ada", name: "laptop", libraries: ["atlas"] });

  await open("teams");
  await press("Add a team");
  await dialogOf(page).getByLabel("id").fill(TEAM);
  await fill("name", "Kottos");
  await dialogOf(page).locator("footer").getByRole("button", { name: "Add a team" }).click();
  const first = await page
    .getByRole("region", { name: "The token of the team Kottos" })
    .innerText();
  await press("I have copied it");
  await press("Workspaces of Kottos");
  await press("Add workspace_ids");
  await dialogOf(page).getByRole("textbox").fill("ws-1");
  await confirm("Workspaces", "The team sees what it saw.", "No call of theirs runs now.");
  await rowOf(page, TEAM).getByText("ws-1").waitFor();

  // The library goes to a workspace: the team that gains it is named.
  await open("libraries");
  await press("Change atlas");
  await dialogOf(page).getByLabel("Workspace").fill("ws-1");
  await confirm("Change", "No team sees it now.", "team Kottos");
  await rowOf(page, "atlas").getByText("ws-1").waitFor();

  await open("teams");
  await rowOf(page, TEAM).getByText("atlas").waitFor();
  await press("Rotate Kottos");
  await dialogOf(page).getByText("Refused at once until they have the new token:").waitFor();
  await dialogOf(page).locator("footer").getByRole("button", { name: "Rotate" }).click();
  const region = page.getByRole("region", { name: "The token of the team Kottos" });
  const rotated = await region.innerText();
  expect(rotated).not.toBe(first);
  await press("I have copied it");
  expect(await everything(page)).not.toContain(rotated);
  await press("Switch off Kottos");
  await confirm("Switch off Kottos", "every agent of Kottos");
  await press("Switch on Kottos");
  await confirm("Switch on Kottos", "Let in again");
  await rowOf(page, TEAM).getByText("active", { exact: true }).waitFor();

  await open("keys");
  const kid = (await page.locator("tbody tr").getAttribute("data-row"))!;
  await press("New key");
  await confirm("New key", "Nobody is refused");
  await expect.poll(() => page.locator("tbody tr").count()).toBe(2);
  await press(`Reveal ${kid}`);
  await dialogOf(page).getByText("The audit says that you saw it.").waitFor();
  await dialogOf(page)
    .locator("footer")
    .getByRole("button", { name: `Reveal ${kid}` })
    .click();
  const revealed = await page.getByRole("region", { name: `The secret of ${kid}` }).innerText();
  expect(revealed).toMatch(/^[0-9a-f]{64}$/);
  await press("I have copied it");
  expect(await everything(page)).not.toContain(revealed);
  await press(`Retire ${kid}`);
  await confirm(`Retire ${kid}`, "need to be rotated", "team Kottos");
  await rowOf(page, kid).getByText("retired", { exact: true }).waitFor();

  await open("accounts");
  await press("Add an account");
  await fill("name", "daedalus");
  await fill("password", "a password that is long enough");
  await confirm("Add an account");
  await press("Switch off daedalus");
  await confirm("Switch off daedalus", "Its teams go on as they are.");
  await rowOf(page, "daedalus").getByText("switched off").waitFor();

  await open("memberships");
  await press("Revoke manager of ada for atlas");
  await confirm(
    "Revoke manager of ada for atlas",
    "these tokens lose the library:",
    "token laptop",
  );
  await page.getByText("Nobody has a role yet.").waitFor();

  await open("users");
  await press("Remove ada");
  await confirm("Remove ada", "with all roles for libraries and all tokens", "laptop ppt_");
  await page.getByText("There is no user yet. Add one.").waitFor();

  await open("audit");
  const did = page.locator("tbody tr td:nth-child(4)");
  await expect.poll(() => did.first().innerText()).toBe("user.remove");
  expect(await did.allInnerTexts()).toEqual(
    expect.arrayContaining(["key.retire", "key.reveal", "team.rotate", "membership.revoke"]),
  );
  await press("Check the chain");
  await page.getByText("The chain is whole").waitFor();
  expect(complaints.filter((text) => !text.includes("401"))).toEqual([]);
});

it("M021: what another admin changes is on the page Access at once", async () => {
  const { url, ask, page, complaints } = await startDirectory();
  await page.goto(`${url}/ui/panels/team-auth/users`);
  await page.getByText("live", { exact: true }).waitFor();
  // Six times in a row: a page that asks every 8 s would be in time for each of them by chance alone.
  for (const id of ["ada", "bob", "eve", "ida", "joe", "kai"]) {
    await ask("POST", "users", { id });
    await rowOf(page, id).waitFor({ timeout: PATIENCE * 2_000 });
  }
  await page.goto(`${url}/ui/panels/team-auth/audit`);
  await page.getByText("live", { exact: true }).waitFor();
  await page.getByText("user:kai").waitFor();
  for (const id of ["lea", "mia", "nia", "ola", "pia", "ray"]) {
    await ask("POST", "users", { id });
    await page.getByText(`user:${id}`).waitFor({ timeout: PATIENCE * 2_000 });
  }
  expect(complaints.filter((text) => !text.includes("401"))).toEqual([]);
});

it("19: an address of the lists as they were once leads to their panels", async () => {
  const { url, ask, page } = await startDirectory();
  await ask("POST", "users", { id: "ada" });
  await page.goto(`${url}/ui/access?view=users&q=ad`);
  await rowOf(page, "ada").waitFor();
  expect(page.url()).toBe(`${url}/ui/panels/team-auth/users?q=ad`);
  await page.goto(`${url}/ui/access?view=explain`);
  await page.getByRole("heading", { name: "Access" }).waitFor();
  expect(page.url()).toBe(`${url}/ui/access?view=explain`);
});

it("M021: a dialog that is open says at once whom it hits by now", async () => {
  const { url, ask, page } = await startDirectory();
  await ask("POST", "users", { id: "ada" });
  await ask("POST", "libraries", { uid: "atlas", owner: "ada" });
  await page.goto(`${url}/ui/panels/team-auth/users`);
  await page.getByText("live", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Remove ada" }).click();
  await dialogOf(page).getByText("The user goes for good").waitFor();
  for (const name of ["laptop", "phone", "desk"]) {
    await ask("POST", "tokens", { user: "ada", name, libraries: ["atlas"] });
    await dialogOf(page)
      .getByText(`${name} ppt_`)
      .waitFor({ timeout: PATIENCE * 2_000 });
  }
  expect(await dialogOf(page).getByText("The user goes for good").count()).toBe(1);
});

it("20: a token is minted with the keyboard alone", async () => {
  const { ask, page } = await startDirectory();
  await ask("POST", "users", { id: "ada" });
  await ask("POST", "libraries", { uid: "atlas", owner: "ada" });
  await page.reload();
  await page.getByText("live", { exact: true }).waitFor();
  await page.getByText("There is no token yet. Mint one.").waitFor();
  const way: string[] = [];
  const walk = walkerOf(page, way);
  const { keyboard } = page;
  await walk(/^button Mint a token$/);
  await keyboard.press("Enter");
  await expect.poll(() => page.evaluate(FOCUS)).toMatch(/^select-one User/);
  await keyboard.type("ada");
  await dialogOf(page).getByRole("checkbox").waitFor();
  await walk(/^text name/);
  await keyboard.type("laptop");
  await walk(/^checkbox atlas/);
  await keyboard.press("Space");
  await walk(/^submit Mint$/);
  // It is off until it is said whom it hits.
  await page.locator("button[type=submit]:not([aria-disabled])").waitFor();
  await keyboard.press("Enter");
  await page.getByRole("region", { name: "The new token of ada" }).waitFor();
  await walk(/^button I have copied it$/);
  await keyboard.press("Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByText("laptop").waitFor();
  const { tokens } = (await ask("GET", "tokens")) as { tokens: object[] };
  expect(tokens).toMatchObject([{ user: "ada", name: "laptop", libraries: ["atlas"] }]);
  expect(way.filter((here) => here.split(" ").length < 2)).toEqual([]);
});
