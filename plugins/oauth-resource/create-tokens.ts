import type { PluginContext } from "propylon";
import { perGeneration } from "propylon/kit";
import { isCrowded } from "propylon/plugins/keys";
import type { OauthResourceOptions } from "./options.ts";
import { Outages } from "./issuer/outages.ts";
import { AccessTokens, type TokenParts } from "./tokens.ts";

/** Name of the authenticator. */
export const AUTHENTICATOR = "oauth";

/** What checks tokens in a gateway as it is configured now. */
export function createTokens(
  gateway: PluginContext<OauthResourceOptions>,
  parts: Omit<TokenParts, "audiences" | "isCrowded" | "outages">,
): AccessTokens {
  const { config, info, log } = gateway;
  const isShared = (): boolean =>
    parts.accounts !== undefined ||
    parts.issuers.all.length > 1 ||
    isCrowded(AUTHENTICATOR, info.describe().authenticators);
  return new AccessTokens({
    ...parts,
    audiences: config.audiences,
    isCrowded: perGeneration(gateway, isShared),
    outages: new Outages(log),
  });
}
