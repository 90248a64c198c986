import {
  GatewayError,
  type GatewayConfig,
  type PluginContext,
  type Principal,
  type Role,
} from "propylon";
import { createPrincipal, ROLES } from "propylon/kit";
import { librariesOf } from "propylon/internal";
import type { Account, AccountsService } from "./service.ts";

/** Somebody who is explained: a principal as a request would bring it, and what is known of it. */
export interface ExplainedPrincipal {
  readonly principal: Principal;
  /** `undefined` when only the credential itself can tell. */
  readonly account: Account | undefined;
}

/** What finds a {@link ExplainedPrincipal}. */
export interface AccountSources {
  readonly info: PluginContext["info"];
  readonly accounts: AccountsService | undefined;
}

const REF = /^(anonymous|key|user|team|agent|service):(.+)$/s;

/** The sender of the request: its credential was taken just now. */
export function subjectOf(principal: Principal): ExplainedPrincipal {
  const account = {
    known: true,
    active: true,
    roles: [...principal.roles],
    libraries: librariesOf(principal),
  };
  return { principal, account };
}

/**
 * Somebody by their `ref`.
 *
 * @param roles what its token says, for those whose roles stand nowhere else
 * @throws {GatewayError} `invalid` for an invalid ref
 */
export async function findSubject(
  ref: string,
  roles: readonly Role[],
  { info, accounts }: AccountSources,
): Promise<ExplainedPrincipal> {
  const [, kind, id] = REF.exec(ref) ?? [];
  if (kind === undefined || id === undefined)
    throw new GatewayError("invalid", "The principal is not kind:id.", {
      hint: "Write e.g. team:kottos, user:ann or key:ci.",
    });
  const account = (await accounts?.explain(ref)) ?? ofConfig(kind, id, info);
  const { libraries } = account ?? {};
  const principal = createPrincipal({
    id,
    kind: kind as Principal["kind"],
    roles: new Set(account?.roles ?? roles),
    ...(libraries && { claims: { libraries } }),
  });
  return { principal, account };
}

const NOT_HERE = { known: false, active: false, roles: [] };

/** What the config says about somebody; nothing about those whom tokens vouch for. */
function ofConfig(kind: string, id: string, info: PluginContext["info"]): Account | undefined {
  const { auth } = info.effectiveConfig() as Pick<GatewayConfig, "auth">;
  if (kind === "anonymous") return anonymous(info, auth.strict);
  if (kind !== "key") return undefined;
  if (id === "api-key" && auth.apiKey !== undefined)
    return { known: true, active: true, roles: ROLES };
  const key = Object.hasOwn(auth.keys, id) ? auth.keys[id] : undefined;
  if (key) return { known: true, active: true, roles: [key.role] };
  return { ...NOT_HERE, reason: "auth.keys has no such key.", change: `Add auth.keys.${id}.` };
}

function anonymous(info: PluginContext["info"], isStrict: boolean): Account {
  const isOpen = info.describe().authenticators.length === 0;
  if (isOpen) return { known: true, active: true, roles: ROLES };
  if (!isStrict) return { known: true, active: true, roles: ["viewer"] };
  return {
    ...NOT_HERE,
    reason: "The gateway takes no call without credentials.",
    change: "Send a key or a token.",
  };
}
