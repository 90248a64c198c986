import type { PluginContext } from "propylon";

/** Tells that somebody else may name users, too: what belongs to a principal belongs to its `ref`. */
export function warnOfOtherNames({
  check,
  control,
}: Pick<PluginContext, "check" | "control">): void {
  check("team-auth-names", () => {
    const isSigned = control.authenticators.some(
      ({ name, plugin }) => name === "jwt" && plugin === undefined,
    );
    if (!isSigned) return undefined;
    return {
      message: "team-auth: the signer of tokens for auth.jwt can be any user.",
      path: ["auth", "jwt"],
      hint: "A token with the sub of a user is that user. Let people in by oauth-resource, which keeps them apart, or let auth.jwt sign for no sub that is a user.",
    };
  });
}
