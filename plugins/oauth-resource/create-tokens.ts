import type { PluginContext } from "propylon";
import { perGeneration } from "propylon/kit";
import { isCrowded } from "./issuers.ts";
import type { OauthResourceOptions } from "./options.ts";
import { Outages } from "./outages.ts";
import { AccessTokens, type TokenParts } from "./tokens.ts";

/** What checks tokens in a gateway as it is configured now. */
export function createTokens(
  gateway: PluginContext<OauthResourceOptions>,
  parts: Omit<TokenParts, "audiences" | "isCrowded" | "outages">,
): AccessTokens {
  const { config, control, log } = gateway;
  const isShared = (): boolean => parts.accounts !== undefined || isCrowded(parts.issuers, control);
  return new AccessTokens({
    ...parts,
    audiences: config.audiences,
    isCrowded: perGeneration(gateway, isShared),
    outages: new Outages(log),
  });
}
