import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { PATIENCE } from "../../fixtures/ci.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

it(
  "T026, T168, T177, T181, T182: npm run team-auth shows two teams and a user with different documents, and a stream that ends with its token",
  { timeout: PATIENCE * 120_000 },
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ["playground/team-auth.mjs"], {
      cwd: ROOT,
    });
    expect(stdout).toMatch(/^Alpha searches "token": \d+ documents of guides$/m);
    expect(stdout).toMatch(/^Beta searches "token": \d+ documents of plugins$/m);
    expect(stdout).toMatch(/^Ada, a user, searches "token": \d+ documents of plugins$/m);
    expect(stdout).toContain("Beta reads guides/access.md: There is no such document.");
    expect(stdout).toMatch(/^Alpha gets a new token\. Ended: \d+ sessions, 1 streams\.$/m);
    const [, ms] = /^The stream ended after (\d+) ms/m.exec(stdout) ?? [];
    expect(Number(ms)).toBeLessThan(PATIENCE * 1_000);
    expect(stdout).toContain("The old token: Invalid MCP token.");
    expect(stdout).toContain('The new token: {"libraries":["guides"]}');
  },
);
