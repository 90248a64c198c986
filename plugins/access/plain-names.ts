import type { GatewayConfig, PluginContext } from "propylon";
import { Checks, perGeneration } from "propylon/kit";
import { JWT } from "propylon/internal";
import { isJwtQualified, qualifiedId } from "propylon/plugins/keys";
import type { AccessOptions, RuleOptions } from "./options.ts";

/** Tells of a rule that keeps out a person of `auth.jwt` by a plain name, where all of them have full names: it has no effect. */
export function warnOfPlainNames(
  gateway: Pick<PluginContext<AccessOptions>, "add" | "info" | "config" | "hook">,
): void {
  const { add, info, config } = gateway;
  const isQualified = perGeneration(gateway, () => {
    const { auth } = info.effectiveConfig() as Pick<GatewayConfig, "auth">;
    return auth.jwt !== undefined && isJwtQualified(auth.jwt, info.describe().authenticators);
  });
  add(Checks, {
    name: "access-people",
    ask: () => {
      if (!isQualified()) return undefined;
      for (const [index, rule] of config.rules.entries()) {
        const name = plainNameIn(rule);
        if (name === undefined) continue;
        const full = qualifiedId(JWT, name);
        return {
          message: `access: a rule keeps out the user "${name}"; by a token of auth.jwt this person is "${full}".`,
          path: ["plugins", "access", "rules", String(index)],
          hint: `Add ${full} to the rule.`,
        };
      }
      return undefined;
    },
  });
}

function plainNameIn({ deny, for: who }: RuleOptions): string | undefined {
  const users = deny === undefined ? [] : (who?.user ?? []);
  const isPlain = (name: string): boolean => !name.includes(":") && !name.startsWith("*");
  return users.find((name) => isPlain(name) && !users.includes(qualifiedId(JWT, name)));
}
