import type { Principal } from "../call/types.ts";
import { type KeptPrincipal, restorePrincipal } from "../kit/kept.ts";
import type { Generation } from "./generation.ts";

/** Somebody with the rights of now; see `Control.renew`. */
export function renew(
  { compiled }: Pick<Generation, "compiled">,
  record: KeptPrincipal,
): Principal | undefined {
  const { ref, expiresAt, origin } = record;
  if (expiresAt !== undefined && expiresAt <= Date.now()) return undefined;
  const principal = restorePrincipal(record);
  if (compiled.open) return principal;
  if (origin === undefined) return principal.kind === "anonymous" ? undefined : principal;
  const link = compiled.authenticators.find(({ name }) => name === origin);
  return link?.renew ? link.renew(ref) : link && principal;
}
