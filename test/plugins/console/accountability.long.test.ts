import { expect, it } from "vitest";
import { expectList, useAll } from "../ui/controls.ts";
import { startTeams, TEAM_PAGES } from "../ui/pages.ts";
import { PATIENCE } from "../../fixtures/ci.ts";

it(
  "M002, M003, M054, M140, M150, 1: every control of every page of the console makes its request, leads somewhere or changes the view",
  { timeout: PATIENCE * 200_000 },
  async () => {
    const { url } = await startTeams();
    const controls = await useAll({ url, views: TEAM_PAGES });
    expect(controls.length).toBeGreaterThanOrEqual(20);
    expectList("plugins/console/ACCOUNTABILITY.md", controls);
  },
);
