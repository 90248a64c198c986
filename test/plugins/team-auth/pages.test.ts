import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const read = (page: string): string => readFileSync(`docs/${page}`, "utf8");
const ROLES = ["issuer", "host", "operator"].map((role) => `guide/team-auth-${role}.md`);
const MIGRATION = "guide/team-auth-migration.md";

it("T191: each role has a page, to which the plugin's page, the index and the other pages lead", () => {
  for (const page of [...ROLES, MIGRATION]) {
    expect(read("plugins/team-auth.md")).toContain(`../${page}`);
    expect(read("README.md")).toContain(page);
    expect(read(page)).toMatch(/\]\((?:\.\.\/plugins\/)?team-auth[\w-]*\.md|\.\.\/plugins\//);
    expect(read(page).startsWith("# ")).toBe(true);
  }
});

it("T158: the migration page has six phases in their order, each with its way back", () => {
  const page = read(MIGRATION);
  const rows = [...page.matchAll(/^\| (\d) +\| (.+?) +\| (.+?) +\|$/gm)];
  expect(rows.map(([, phase]) => phase)).toEqual(["1", "2", "3", "4", "5", "6"]);
  for (const [, , what, rollback] of rows) {
    expect(what!.length).toBeGreaterThan(10);
    expect(rollback).toMatch(/^(?:Safe|Not safe|Per deployment)/);
  }
  const headings = [...page.matchAll(/^## (\d)\. /gm)].map(([, phase]) => phase);
  expect(headings).toEqual(rows.map(([, phase]) => phase));
  expect(page).toContain("forward_inbound_auth: true");
});

it("the migration page names the settings of the per-turn path that go at the end", () => {
  const end = read(MIGRATION).split("## 6.")[1]!;
  for (const name of ["SIGNING_SECRET", "SIGNING_KID", "TOKEN_TTL_SECONDS", "MCP_URL"])
    expect(end).toContain(`MNEMOSYNE_${name}`);
});
