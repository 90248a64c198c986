import { defineService, type Identity, type Principal, type Role } from "propylon";
import type { Listed } from "propylon/kit";

/** Whether somebody may call something, and why. */
export interface Decision {
  readonly allowed: boolean;
  /** Number of the rule that decided, from 0; `undefined` when none fits. */
  readonly rule: number | undefined;
  /** Where that rule stands, as `gateway.yaml:7:5`. */
  readonly place: string | undefined;
  /** A sentence. It names the rule, and so whom it is about: for operators. */
  readonly reason: string;
}

/** The steps between a request and its answer, in the order in which they are met. */
export const STEPS = [
  "credential",
  "active",
  "role",
  "rule",
  "gate",
  "limit",
  "libraries",
] as const;

/** One of {@link STEPS}. */
export type StepName = (typeof STEPS)[number];

/** What one step says. */
export interface AccessStep {
  readonly step: StepName;
  /** `unknown`: only the credential itself, or its issuer, can tell. */
  readonly verdict: "pass" | "fail" | "unknown";
  /** A sentence. */
  readonly reason: string;
  /** What would change a verdict of `fail`, as a sentence. */
  readonly change?: string | undefined;
  /** Where in the config the cause stands, as `gateway.yaml:7:5`. */
  readonly place?: string | undefined;
}

/** Why somebody may, or may not, call a tool. */
export interface Explanation {
  /** `kind:id`. */
  readonly principal: string;
  readonly server: string;
  readonly tool: string;
  /** Whether a call would go to the server now: no step fails. */
  readonly allowed: boolean;
  readonly steps: readonly AccessStep[];
}

/** Who may call what. */
export interface AccessService {
  /** The decision of the rules; looks nothing up. */
  may(principal: Principal, item: Pick<Listed, "server" | "name">): Decision;
}

/** Service token of the access plugin. */
export const Access = defineService<AccessService>("access");

/** What is known of somebody whom a plugin keeps: a team, a user, the holder of a token. */
export interface Account {
  /** Whether there is anybody of this `ref`. */
  readonly known: boolean;
  /** Whether a credential of it would be taken now. */
  readonly active: boolean;
  /** Why it is not known or not active, as a sentence; holds no secret. */
  readonly reason?: string | undefined;
  /** What would change that, as a sentence. */
  readonly change?: string | undefined;
  readonly roles: readonly Role[];
  /** What its tokens resolve to now, in order; absent for one without libraries. */
  readonly libraries?: readonly string[] | undefined;
}

/** Knows accounts by their `ref`. */
export interface AccountsService {
  /**
   * What is known of somebody, as it stands now.
   * @param ref `kind:id`
   * @returns `undefined` for a kind that this plugin does not keep
   */
  explain(ref: string): Account | undefined | Promise<Account | undefined>;
  /**
   * Somebody whom another plugin let in, such as by a login: with the claims of the account of that `ref`, or as it came where there is
   * none. Ask with every request: accounts change.
   *
   * @throws {GatewayError} `unauthorized` for an account that is switched off; `unavailable` while nobody can tell
   */
  admit(identity: Identity): Identity | Promise<Identity>;
}

/** Service token of a plugin that keeps accounts, e.g. team-auth. */
export const Accounts = defineService<AccountsService>("accounts");
