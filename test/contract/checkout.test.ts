import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openCheckout, type Checkout } from "../fixtures/checkout.ts";

let checkout: Checkout;
beforeAll(() => {
  checkout = openCheckout();
});
afterAll(() => checkout.close());

it("23: a fresh clone is type-checked before anything is built", { timeout: 120_000 }, () => {
  const words = ["run", "--silent", "typecheck"];
  const { status, stdout } = spawnSync("npm", words, { cwd: checkout.folder, encoding: "utf8" });
  expect(stdout).toBe("");
  expect(status).toBe(0);
  expect(existsSync(join(checkout.folder, "dist"))).toBe(false);
});
