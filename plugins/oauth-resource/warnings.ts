import type { GatewayConfig, PluginContext } from "propylon";
import { Checks } from "propylon/kit";
import type { TokenIssuers } from "./issuer/issuers.ts";
import type { OauthResourceOptions } from "./options.ts";
import type { Resources } from "./resources.ts";

/** Tells what should not stay as it is. */
export function registerWarnings(
  { add, info, config }: Pick<PluginContext<OauthResourceOptions>, "add" | "info" | "config">,
  resources: () => Resources,
  issuers: TokenIssuers,
): void {
  add(Checks, {
    name: "oauth",
    ask: () => {
      const nobody =
        issuers.all.length === 0 ? ["nobody's tokens count, as it has no issuers"] : [];
      const [problem] = [...nobody, ...resources().problems, ...shadows(info, config)];
      if (problem === undefined) return undefined;
      return {
        message: `oauth-resource: ${problem}.`,
        path: ["plugins", "oauth-resource"],
        hint: "See the page of the plugin oauth-resource.",
      };
    },
  });
}

/** What auth.jwt takes is never seen here, and it asks for no audience on its own. */
function shadows(
  info: PluginContext["info"],
  { issuers }: OauthResourceOptions,
): readonly string[] {
  const { jwt } = (info.effectiveConfig() as GatewayConfig).auth;
  const isShadow = Object.values(issuers).some(({ issuer }) => issuer === jwt?.issuer);
  return isShadow ? ["auth.jwt takes the tokens of one of its issuers before it does"] : [];
}
