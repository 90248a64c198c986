import { fileURLToPath } from "node:url";
import type { Report } from "../../../plugins/conformance/report.ts";
import { checkRuntime } from "../../../plugins/conformance/runtime/kit.ts";
import { PROBES, type RuntimeKitOptions } from "../../../plugins/conformance/runtime/options.ts";

/** What full.mjs does for which promise. */
export const ORDERS = {
  message: "pong",
  failing: "fail",
  slow: "sleep 2500",
  remember: "remember {word}",
  recall: "recall",
};

/** The command of a fixture of test/fixtures/reference. */
export function commandOf(name: string, ...words: string[]): readonly string[] {
  const url = new URL(`../../fixtures/reference/${name}.mjs`, import.meta.url);
  return [process.execPath, fileURLToPath(url), ...words];
}

/** Runs the kit with short times. */
export function check(options: Partial<RuntimeKitOptions>): Promise<Report> {
  return checkRuntime({
    level: 1,
    headers: {},
    probes: PROBES,
    filling: { rounds: 4, characters: 2_000 },
    timeout: 15_000,
    startup: 15_000,
    grace: 3_000,
    traceWait: 1_500,
    ...options,
  });
}

/** What did not pass, by id. */
export function troubleIn({ results }: Report): Readonly<Record<string, string>> {
  return Object.fromEntries(
    results
      .filter(({ outcome }) => outcome !== "passed")
      .map(({ id, outcome, message }) => [id, `${outcome}: ${message}`]),
  );
}
