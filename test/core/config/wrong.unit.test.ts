import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { toGatewayError } from "propylon";
import { describe, expect, it } from "vitest";
import { ConfigFile } from "../../../core/file/config-file.ts";
import { issuesOf, issueText } from "../../../core/config/issue.ts";

const folder = fileURLToPath(new URL("wrong/", import.meta.url));
const configs = readdirSync(folder).filter((name) => !name.endsWith(".txt"));

describe("M013: a wrong config is refused with one sentence, its place and a next step", () => {
  it("there are at least 20 of them", () => expect(configs.length).toBeGreaterThanOrEqual(20));

  it.each(configs)("%s", async (name) => {
    const error = await new ConfigFile(join(folder, name)).load().then(
      () => expect.unreachable("the config was accepted"),
      (thrown: unknown) => toGatewayError(thrown),
    );
    expect(error.code).toBe("invalid");
    const issues = issuesOf(error);
    expect(issues.length).toBeGreaterThan(0);
    for (const issue of issues) {
      expect(issue.place.line).toBeGreaterThan(0);
      expect(issue.place.column).toBeGreaterThan(0);
      expect(issue.message).toMatch(/^[^\n]+\.$/);
      expect(issue.hint).toMatch(/^[^\n]+[.?}]$/);
    }
    const lines = issues.map((issue) => issueText(issue).replace(/^.*wrong\//, ""));
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(join(folder, `${name}.txt`));
  });
});
