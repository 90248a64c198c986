import type { OptionSelector } from "propylon/kit";
import type { RatelimitOptions, Selection } from "./options.ts";

/** The servers and tools that rules name. */
export function selectorsOf({ rates, concurrency }: RatelimitOptions): readonly OptionSelector[] {
  return [...ofRules("rates", rates), ...ofRules("concurrency", concurrency)];
}

function ofRules(
  part: string,
  rules: Readonly<Record<string, Selection>>,
): readonly OptionSelector[] {
  return Object.entries(rules).flatMap(([rule, { server, tool }]) => {
    const own = { by: `The rule ratelimit.${part}.${rule}`, isStrict: false };
    const at = (option: string) => ({ path: [part, rule, option] });
    return [
      ...(server === undefined
        ? []
        : [{ ...own, ...at("server"), kind: "server" as const, name: server }]),
      ...(tool === undefined
        ? []
        : [{ ...own, ...at("tool"), kind: "tool" as const, server: server ?? "*", name: tool }]),
    ];
  });
}
