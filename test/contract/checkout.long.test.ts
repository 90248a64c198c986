import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { PATIENCE } from "../fixtures/ci.ts";
import { openCheckout } from "../fixtures/checkout.ts";

it(
  "23: a fresh clone is type-checked before anything is built",
  { timeout: PATIENCE * 120_000 },
  (context) => {
    if (process.env["CI"])
      context.skip("CI has a fresh clone itself, and npm test checks its types before the build");
    const checkout = openCheckout();
    onTestFinished(() => checkout.close());
    const words = ["run", "--silent", "typecheck"];
    const { status, stdout } = spawnSync("npm", words, { cwd: checkout.folder, encoding: "utf8" });
    expect(stdout).toBe("");
    expect(status).toBe(0);
    expect(existsSync(join(checkout.folder, "dist"))).toBe(false);
  },
);
