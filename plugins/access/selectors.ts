import type { OptionSelector } from "propylon/kit";
import type { AccessOptions, RuleOptions } from "./options.ts";

/** The servers, tools and keys that rules name. One that denies and names nothing has no effect. */
export function selectorsOf({ rules }: AccessOptions): readonly OptionSelector[] {
  return rules.flatMap((rule, index) => [...patternsOf(rule, index), ...keysOf(rule, index)]);
}

function patternsOf({ allow, deny }: RuleOptions, rule: number): readonly OptionSelector[] {
  const part = deny === undefined ? "allow" : "deny";
  const by = `The rule access[${rule}]`;
  return (deny ?? allow ?? []).flatMap((pattern, index) => {
    const [first, ...readings] = readingsOf(pattern);
    if (first === undefined) return [];
    const own = { path: ["rules", rule, part, index], by, isStrict: deny !== undefined };
    const servers = readings.map(({ server }) => ({ name: server }));
    return [
      { ...own, kind: "server" as const, name: first.server, readings: servers },
      { ...own, kind: "tool" as const, ...first, readings },
    ];
  });
}

/** `a.b.c` is the tool `b.c` of `a`, or `c` of `a.b`: names hold dots, too. */
function readingsOf(
  pattern: string,
): readonly { readonly server: string; readonly name: string }[] {
  return [...pattern.matchAll(/\./g)].map(({ index }) => ({
    server: pattern.slice(0, index),
    name: pattern.slice(index + 1),
  }));
}

function keysOf({ for: who, deny }: RuleOptions, rule: number): readonly OptionSelector[] {
  const by = `The rule access[${rule}]`;
  return (who?.key ?? []).map((name) => ({
    path: ["rules", rule, "for", "key"],
    kind: "key",
    name,
    by,
    isStrict: deny !== undefined,
  }));
}
