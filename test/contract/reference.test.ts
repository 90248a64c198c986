import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { firstPartyPlugins } from "../../core/gateway/check/first-party.ts";
import { ERROR_STATUS } from "../../core/kit/errors.ts";
import { setupGateway } from "../../core/testing/index.ts";
import gating from "../../plugins/gating/index.ts";
import { expectPage } from "./page.ts";
import { configPage } from "./reference-config.ts";
import { errorsPage, hooksPage, stagesPage } from "./reference.ts";

it("M092: the page of errors gives guidance for every code, and for no other", () => {
  const content = errorsPage();
  const rows = [...content.matchAll(/^\| `(\w+)` \| (\d{3}) \| -32\d{3} \| (.+) \| (.+) \|$/gm)];
  expect(rows.map(([, code, status]) => [code, Number(status)])).toEqual(
    Object.entries(ERROR_STATUS),
  );
  for (const [, , , meaning, guidance] of rows) {
    // A sentence that says what to do, not the meaning again.
    expect(guidance).toMatch(/^[A-Z][a-z]+ .+\.$/);
    expect(guidance).not.toBe(meaning);
  }
  expectPage("errors.md", content);
});

it("M092: what the guidance names exists, and the page is found from the start page", async () => {
  const guidance = errorsPage()
    .split("\n")
    .flatMap((line) => line.split("|").slice(5, 6))
    .join("\n");
  const config = configPage(Object.values(await firstPartyPlugins()));
  const commands = readFileSync("docs/reference/cli.md", "utf8");
  for (const [, name] of guidance.matchAll(/`(limits|maxResult)`/g))
    expect(config).toContain(`.${name}`);
  for (const [, command] of guidance.matchAll(/`propylon (\w+)`/g))
    expect(commands).toContain(`propylon ${command}`);
  expect(readFileSync("docs/README.md", "utf8")).toContain("(reference/errors.md)");
});

it("M092: the unit that the guidance gives for the longest timeout is that of the answer", async () => {
  const { gateway } = await setupGateway({
    plugins: [[gating, { mcpoCompat: true, timeouts: { max: "10m", overMax: "reject" } }]],
    client: false,
  });
  const refusal: unknown = await gateway
    .call({ server: "any", name: "tool", timeout: 3_600_000 })
    .catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: "invalid_timeout", data: { max: 600 } });
  expect(errorsPage()).toContain("no more than `data.max` seconds");
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
