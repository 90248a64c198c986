import { GatewayError, type Call, type Middleware, type Principal } from "propylon";
import type { Item, Rule } from "./rule.ts";
import type { Decision } from "./service.ts";

const NO_RULES: Decision = {
  allowed: true,
  rule: undefined,
  place: undefined,
  reason: "There are no rules: every caller may call this.",
};

const NO_FIT: Decision = {
  allowed: false,
  rule: undefined,
  place: undefined,
  reason: "No rule fits, and what no rule allows is refused.",
};

/** Whether somebody may call something: the first rule that fits decides. Lists, calls and explanations all ask this and nothing else. */
export function may(rules: readonly Rule[], principal: Principal, item: Item): Decision {
  if (rules.length === 0) return NO_RULES;
  return rules.find((rule) => rule.covers(item) && rule.isFor(principal)) ?? NO_FIT;
}

/** Refuses the calls that rules do not allow. */
export function refuseCalls(rules: readonly Rule[]): Middleware {
  return (call, next) => {
    if (may(rules, call.principal, call).allowed) return next(call);
    throw notAllowed(call);
  };
}

/** Names what somebody sees: principals whom the same rules are about see the same. */
export function viewOf(rules: readonly Rule[], principal: Principal): string {
  return rules
    .filter((rule) => rule.isFor(principal))
    .map(({ rule }) => rule)
    .join(" ");
}

/** What a refused caller is told. Which rule it was, and whom it names, is for operators. */
export function notAllowed({ server, name }: Pick<Call, "server" | "name">): GatewayError {
  return new GatewayError("forbidden", `You may not use "${name.slice(0, 200)}" of "${server}".`, {
    data: { server, name: name.slice(0, 200) },
    hint: "Ask an operator of the gateway; GET /_meta/access/explain says what stands in the way.",
  });
}
