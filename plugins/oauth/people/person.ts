import { boundedRecord, admits, isObject } from "propylon/kit";
import type { Access, Role } from "propylon";
import { z } from "zod";
import { claimValues } from "./claim-values.ts";
import { OauthError } from "../oauth-error.ts";
import type { OauthOptions } from "../options.ts";
import type { ProviderClaims } from "./provider.ts";

/** OpenID Connect Core section 2; no control character, as it stands in logs. */
const SUBJECT = /^\P{Cc}{1,255}$/u;

/** Schema of somebody who logged in, as it is kept. */
export const personSchema = z.object({
  subject: z.string(),
  /** For people to read. */
  name: z.string(),
  /** Of the claims that rules name, the values that some rule names. */
  claims: boundedRecord(z.string(), z.array(z.union([z.string(), z.boolean()])).max(1_000), 10_000),
});

/** Somebody who logged in. */
export type LoggedIn = z.infer<typeof personSchema>;

/** Who may come in, and as what, by what the provider says of them. */
export class PersonRules {
  readonly #rules: OauthOptions["roles"];
  readonly #subject: string;

  constructor({ roles, provider }: Pick<OauthOptions, "roles" | "provider">) {
    this.#rules = roles;
    this.#subject = provider.subject;
  }

  /** @throws {OauthError} `access_denied` for somebody who cannot be known by the claim that is set */
  identify(claims: ProviderClaims): LoggedIn {
    const subject = claims[this.#subject];
    if (typeof subject !== "string" || !SUBJECT.test(subject) || !isProven(claims, this.#subject))
      throw new OauthError(
        "access_denied",
        `The login provider does not say who this is: the claim ${this.#subject} is missing, or not verified.`,
        { status: 403, facts: { expected: [this.#subject], got: Object.keys(claims) } },
      );
    const names = [claims["name"], claims["preferred_username"], claims["email"], subject];
    const name = names.find((each) => typeof each === "string" && each !== "") as string;
    return { subject, name: name.slice(0, 100), claims: this.#named(claims) };
  }

  /** What the rules ask for, and which claims came: names alone, for the log. */
  explain(claims: ProviderClaims): { readonly expected: string[]; readonly got: string[] } {
    return { expected: this.#asked(), got: Object.keys(claims) };
  }

  /** A claim of the rules that the provider keeps at another place (OpenID Connect Core section 5.6.2), as Entra does with many groups. */
  leftOut(claims: ProviderClaims): string | undefined {
    const distributed = claims["_claim_names"];
    if (!isObject(distributed)) return undefined;
    return this.#asked().find((name) => Object.hasOwn(distributed, name));
  }

  /** What a person may; empty for somebody who may not come in. By the rules of now, whenever the person logged in. */
  rolesOf({ claims }: LoggedIn): ReadonlySet<Role> {
    const roles = Object.entries(this.#rules).filter(
      ([, rule]) =>
        rule === "everyone" ||
        Object.entries(rule).some(([claim, values]) =>
          values.some((value) => Object.hasOwn(claims, claim) && claims[claim]!.includes(value)),
        ),
    );
    return new Set(roles.map(([role]) => role as Role));
  }

  #asked(): string[] {
    const asked = Object.values(this.#rules).flatMap((rule) =>
      rule === "everyone" ? [] : Object.keys(rule),
    );
    return [...new Set(asked)];
  }

  #named(claims: ProviderClaims): LoggedIn["claims"] {
    const named = new Map<string, Set<string | boolean>>();
    for (const rule of Object.values(this.#rules)) {
      if (rule === "everyone") continue;
      for (const [claim, values] of Object.entries(rule))
        for (const value of values)
          if (isProven(claims, claim) && claimValues(claims, claim).has(value))
            named.set(claim, (named.get(claim) ?? new Set()).add(value));
    }
    return Object.fromEntries([...named].map(([claim, values]) => [claim, [...values]]));
  }
}

/** An address that anybody may enter names nobody, and makes nobody an operator. */
function isProven(claims: ProviderClaims, claim: string): boolean {
  return claim !== "email" || claims["email_verified"] === true;
}

/** What a gateway knows as scopes, and the role that each of them gives. */
export type ScopeAccess = ReadonlyMap<string, Role>;

/**
 * The scopes that a person gets of those that were asked for; those of a caller where none was.
 *
 * @returns `undefined` where scopes count and the person may have none of them
 */
export function grantScopes(
  asked: readonly string[],
  known: ScopeAccess,
  roles: ReadonlySet<Role>,
): readonly string[] | undefined {
  if (known.size === 0) return [];
  const isAllowed = (scope: string): boolean => admits({ roles }, known.get(scope) as Access);
  const wanted = asked.some((scope) => known.has(scope))
    ? [...known.keys()].filter((scope) => asked.includes(scope))
    : [...known.keys()].filter((scope) => known.get(scope) === "caller");
  const granted = wanted.filter(isAllowed);
  return granted.length > 0 ? granted : undefined;
}
