import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { firstPartyPlugins } from "../../core/config/first-party.ts";
import { ERROR_STATUS } from "../../core/errors.ts";
import { expectPage } from "./page.ts";
import { configPage } from "./reference-config.ts";
import { errorsPage, hooksPage, stagesPage } from "./reference.ts";

it("M092: the page of errors gives guidance for every code", () => {
  const content = errorsPage();
  for (const code of Object.keys(ERROR_STATUS))
    expect(content).toMatch(
      new RegExp(`^\\| \`${code}\` \\| \\d{3} \\| -32\\d{3} \\| .+ \\| .+ \\|$`, "m"),
    );
  expectPage("errors.md", content);
});

it("the page of stages is current", () => {
  const content = stagesPage();
  expect(content).toContain("| `observe` |");
  expectPage("stages.md", content);
});

it("the page of hooks is current and knows every hook", () => {
  const source = readFileSync(new URL("../../core/plugin/hooks.ts", import.meta.url), "utf8");
  const hooks = [...source.matchAll(/^ {2}"([\w:-]+)": \(/gm)].map(([, name]) => name!);
  const content = hooksPage();
  expect(hooks.length).toBeGreaterThan(5);
  for (const hook of hooks) expect(content).toContain(`| \`${hook}\` |`);
  expectPage("hooks.md", content);
});

it("the page of options is current, and every option says what it means", async () => {
  const content = configPage(Object.values(await firstPartyPlugins()));
  const silent = content
    .split("\n")
    .filter((line) => /^\| `.*\|\s*\|$/.test(line) && !line.includes("prefault"));
  expect(silent).toEqual([]);
  expectPage("config.md", content);
});
