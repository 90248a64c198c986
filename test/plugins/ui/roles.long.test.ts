import type { Page } from "playwright-core";
import { digestOf } from "propylon/kit";
import { expect, it } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { fileStore, SECRET_KEY } from "../team-auth/gateway-kit.ts";
import { openPage } from "./kit.ts";
import { openView, problemsInAllLooks } from "./looks.ts";
import { ALL_PAGES, startShop } from "./pages.ts";
import { PATIENCE } from "../../fixtures/ci.ts";

const DIRECTORY = ["users", "libraries", "memberships", "tokens", "teams", "keys", "accounts"];
const VIEWS = [
  ...ALL_PAGES.map((path) => (path === "/config" ? "/config?q=timeouts" : path)),
  ...[...DIRECTORY, "audit"].map((view) => `/panels/team-auth/${view}`),
  "/try/shop/price",
  "/servers?add=1",
];

const ROLES = ["viewer", "operator", "admin"] as const;
const KEYS = {
  viewer: createKey("viewer"),
  operator: createKey("operator"),
  admin: createKey("admin"),
};

/** A gateway where every page has something to show, with a key for each role. */
async function startFull(): Promise<string> {
  const keys = ROLES.map(
    (role) => `    ${role}: { role: ${role}, hash: "sha256:${digestOf(KEYS[role])}" }\n`,
  );
  const { url } = await startShop(
    `store: "${fileStore()}"\nauth:\n  keys:\n${keys.join("")}`,
    `  sessions: {}\n  sqlite: {}\n  team-auth: { secretKeys: ["${SECRET_KEY}"] }\n`,
  );
  const post = async (path: string, body: object): Promise<void> => {
    const headers = { authorization: `Bearer ${KEYS.admin}`, "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const { ok } = await fetch(`${url}/_meta/team-auth/${path}`, init);
    expect({ path, ok }).toEqual({ path, ok: true });
  };
  await post("users", { id: "ada" });
  await post("libraries", { uid: "atlas", owner: "ada" });
  await post("tokens", { user: "ada", name: "laptop", libraries: ["atlas"] });
  await post("teams", { id: "a3f10000-0000-4000-8000-00000000000a", name: "Kottos" });
  await post("accounts", { name: "daedalus", password: "a password that is long enough" });
  return url;
}

async function signIn(page: Page, role: keyof typeof KEYS): Promise<void> {
  await page.getByLabel("Key or token").fill(KEYS[role]);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("live", { exact: true }).waitFor();
}

/** An operator sees less than an admin and more than a viewer; `npm run campaign -- controls` looks at those pages, too. */
const LOOKED_AT = process.env["UI_CONTROLS"] === "all" ? ROLES : (["viewer", "admin"] as const);

it.each(LOOKED_AT)(
  "2, 20: axe finds nothing on any page, in any look, for the role %s",
  { timeout: PATIENCE * 240_000 },
  async (role) => {
    const url = await startFull();
    const { page } = await openPage(`${url}/ui/`);
    await page.getByLabel("Key or token").waitFor();
    const found = [...(await problemsInAllLooks(page, "sign-in"))];
    await signIn(page, role);
    for (const view of VIEWS) {
      await openView(page, `${url}/ui${view}`);
      found.push(...(await problemsInAllLooks(page, view)));
    }
    expect(found).toEqual([]);
  },
);

it("2, 20: axe finds nothing in what asks before a change, in any look", async () => {
  const url = await startFull();
  const { page } = await openPage(`${url}/ui/`);
  await signIn(page, "admin");
  const found: string[] = [];
  for (const [view, button, said] of [
    ["/panels/team-auth/tokens", "Mint a token", "sees no library"],
    ["/panels/team-auth/tokens", "Revoke laptop", "No call of theirs"],
    ["/panels/team-auth/teams", "Rotate Kottos", "Refused at once"],
    ["/config?q=timeouts.default", "Change timeouts.default", "Remove it from the file"],
  ] as const) {
    await openView(page, `${url}/ui${view}`);
    await page.getByRole("button", { name: button, exact: true }).click();
    if (button === "Mint a token") await page.getByLabel("User").selectOption("ada");
    await page.getByText(said).waitFor();
    found.push(...(await problemsInAllLooks(page, button)));
  }
  expect(found).toEqual([]);
});
