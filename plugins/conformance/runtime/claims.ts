import { MANIFEST_FILE, manifestSchema, type Manifest } from "propylon/contract";
import { demand, Unobservable, type Check } from "../check.ts";
import type { CheckResult, ContractLevel } from "../report.ts";
import { parsed } from "./exchange.ts";
import type { Scene } from "./scene.ts";

/** The checks that show whether a claim is so. */
const SHOWN_BY: Readonly<Record<string, readonly string[]>> = {
  streaming: ["R073", "R074"],
  traceContext: ["R070"],
  gracefulShutdown: ["R056", "R068", "R071"],
  contextCompaction: ["R075"],
};

/** Whether the manifest claims only what the other checks, as far as they were made, have seen. */
export function claims(
  text: string,
  results: readonly CheckResult[],
  level: ContractLevel,
): Check<Scene> {
  return {
    id: "R079",
    title: `what ${MANIFEST_FILE} claims is so`,
    level,
    run() {
      const { data } = manifestSchema.safeParse(parsed(text));
      if (!data) throw new Unobservable("There was no manifest to look at (see R078).");
      const wrong = falseClaims(
        data,
        results.filter(({ outcome }) => outcome === "failed"),
      );
      demand(wrong.length === 0, `It claims ${wrong.join("; ")}.`);
    },
  };
}

function falseClaims(
  { capabilities, conformanceLevel }: Manifest,
  failed: readonly CheckResult[],
): readonly string[] {
  const capability = Object.entries(SHOWN_BY).flatMap(([name, ids]) => {
    const against = failed.filter(({ id }) => ids.includes(id));
    return capabilities[name] === true && against.length > 0
      ? [`${name}, and ${idsOf(against)} failed`]
      : [];
  });
  const below = failed.filter(({ level = 0 }) => level <= conformanceLevel);
  return below.length === 0
    ? capability
    : [...capability, `level ${conformanceLevel}, and ${idsOf(below)} failed`];
}

function idsOf(results: readonly CheckResult[]): string {
  return results.map(({ id }) => id).join(", ");
}
