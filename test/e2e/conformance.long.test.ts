import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { cleanEnvironment, run } from "../create-gateway/creator.ts";
import { PATIENCE } from "../fixtures/ci.ts";
import { requirePresent } from "../fixtures/programs.ts";
import { findSuite } from "../conformance/suite.mjs";

const RUN = fileURLToPath(new URL("../conformance/run.mjs", import.meta.url));

// Beside other tests: alone it would wait half of its time. The authorization server has a test of its own.
it(
  "every scored scenario of the official suites passes",
  { timeout: PATIENCE * 300_000 },
  async () => {
    requirePresent(
      "the conformance suite (npm ci --prefix test/conformance)",
      findSuite() !== undefined,
    );
    const env = cleanEnvironment() as NodeJS.ProcessEnv;
    const words = [RUN, "--without", "authorization"];
    const { code, stdout, stderr } = await run(process.execPath, words, { env });
    process.stdout.write(stdout);
    expect(code === 0 ? "" : stdout).toBe("");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  },
);
