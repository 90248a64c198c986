import type { Principal } from "propylon";
import { admits } from "propylon/kit";
import { librariesOf } from "propylon/internal";
import { may } from "./decide.ts";
import { gateOf } from "./gate-step.ts";
import type { AccessQuestion, LadderGateway } from "./question.ts";
import type { Rule } from "./rule.ts";
import type { AccessStep, Explanation } from "./service.ts";
import type { ExplainedPrincipal } from "./subject.ts";

/** Asks everything that stands between somebody and a tool, in the order in which a call meets it. Calls nothing. */
export class Ladder {
  readonly gateway: LadderGateway;
  readonly #rules: readonly Rule[];

  constructor(gateway: LadderGateway, rules: readonly Rule[]) {
    this.gateway = gateway;
    this.#rules = rules;
  }

  explain({ principal, account }: ExplainedPrincipal, question: AccessQuestion): Explanation {
    const { server, tool } = question;
    const steps: AccessStep[] = [
      credentialOf(account),
      activityOf(account),
      roleOf(principal, account),
      this.#ruleOf(principal, question),
      gateOf(this.gateway, principal, question),
      this.#limitOf(principal, question),
      libraryOf(principal, question.library),
    ];
    const allowed = steps.every(({ step, verdict }) => step === "libraries" || verdict !== "fail");
    return { principal: principal.ref, server, tool, allowed, steps };
  }

  #ruleOf(principal: Principal, { server, tool, showsRules }: AccessQuestion): AccessStep {
    const { allowed, place, reason } = may(this.#rules, principal, { server, name: tool });
    const verdict = allowed ? "pass" : "fail";
    if (!showsRules)
      return {
        step: "rule",
        verdict,
        reason: allowed ? "The rules allow it." : "The rules do not allow it.",
        ...(!allowed && { change: "Ask an operator of the gateway." }),
      };
    return {
      step: "rule",
      verdict,
      reason,
      ...(place !== undefined && { place }),
      ...(!allowed && { change: changeOf(place, principal, `${server}.${tool}`) }),
    };
  }

  #limitOf(principal: Principal, { server, tool }: AccessQuestion): AccessStep {
    const { limits } = this.gateway.services;
    const call = { method: "tools/call", server, name: tool, principal } as const;
    const state = limits?.headersOf(call)["ratelimit"];
    if (state === undefined)
      return { step: "limit", verdict: "pass", reason: "No rate is about such a call." };
    if (!/;r=0(?:\D|$)/.test(state))
      return { step: "limit", verdict: "pass", reason: `Calls are left: ${state}.` };
    const change = "Wait for t seconds, or raise the rate in plugins.ratelimit.rates.";
    return { step: "limit", verdict: "fail", reason: `No call is left: ${state}.`, change };
  }
}

function credentialOf(account: ExplainedPrincipal["account"]): AccessStep {
  if (account === undefined)
    return {
      step: "credential",
      verdict: "unknown",
      reason: "Nobody here keeps such principals: the token tells who it is.",
    };
  if (account.known)
    return { step: "credential", verdict: "pass", reason: "It is known to the gateway." };
  return {
    step: "credential",
    verdict: "fail",
    reason: account.reason ?? "Nobody knows it.",
    change: account.change ?? "Check the kind and the id.",
  };
}

function activityOf(account: ExplainedPrincipal["account"]): AccessStep {
  if (account === undefined)
    return {
      step: "active",
      verdict: "unknown",
      reason: "Its token is checked when it is used.",
    };
  if (account.active) return { step: "active", verdict: "pass", reason: "It is active." };
  const reason = account.reason ?? "It is not active.";
  return { step: "active", verdict: "fail", reason, ...withChange(account.change) };
}

function withChange(change: string | undefined): Pick<AccessStep, "change"> {
  return change === undefined ? {} : { change };
}

function roleOf(principal: Principal, account: ExplainedPrincipal["account"]): AccessStep {
  const roles = [...principal.roles].join(", ");
  if (admits(principal, "caller"))
    return { step: "role", verdict: "pass", reason: `It may call: ${roles}.` };
  if (principal.roles.size > 0)
    return {
      step: "role",
      verdict: "fail",
      reason: `Its role may not call: ${roles}.`,
      change: "Give it the role caller.",
    };
  if (account?.known === false)
    return { step: "role", verdict: "unknown", reason: "It has no role, since nobody knows it." };
  if (account) return { step: "role", verdict: "pass", reason: "Without a role it is a caller." };
  return {
    step: "role",
    verdict: "unknown",
    reason: "Its token tells its roles; say them with role=.",
  };
}

function changeOf(place: string | undefined, { ref }: Principal, what: string): string {
  const where = place === undefined ? "a rule" : `a rule before ${place}`;
  return `Write ${where} that allows ${what} for ${ref}.`;
}

function libraryOf(principal: Principal, library: string | undefined): AccessStep {
  const libraries = librariesOf(principal);
  const step = "libraries";
  if (libraries === undefined)
    return {
      step,
      verdict: library === undefined ? "pass" : "unknown",
      reason: "It has no set of libraries: servers that ask for one take it as empty.",
    };
  const words =
    libraries.length === 0 ? "It may read no library" : `It may read ${libraries.join(", ")}`;
  if (library === undefined || libraries.includes(library))
    return { step, verdict: "pass", reason: `${words}.` };
  return {
    step,
    verdict: "fail",
    reason: `${words}, and not ${library}.`,
    change: `Give it the library ${library}.`,
  };
}
