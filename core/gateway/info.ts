import { restorePrincipal, type KeptPrincipal } from "../kit/kept.ts";
import { makePrincipal } from "../kit/principal.ts";
import { maskGatewayConfig } from "../config/shown.ts";
import { writeConfig } from "../config/config.ts";
import type { Principal } from "../kit/types.ts";
import type { ConfigSource } from "./check/config-source.ts";
import type { GatewayDescription } from "../plugin/description.ts";
import type { GatewayInfo } from "../plugin/gateway-info.ts";
import type { Generation } from "./generation.ts";

/** What the information about a gateway is taken from: always the current generation. */
export interface Informing {
  readonly file: ConfigSource | undefined;
  readonly dryRun: boolean;
  readonly current: Generation;
  describe(): GatewayDescription;
}

/** The gateway as every plugin sees it. */
export function createInfo(gateway: Informing): GatewayInfo {
  const { file, dryRun } = gateway;
  const compiled = (): Generation["compiled"] => gateway.current.compiled;
  return {
    get servers() {
      return compiled().servers;
    },
    dryRun,
    get settings() {
      const { name, version, limits } = gateway.current.config;
      return { name, version, limits };
    },
    get generation() {
      return gateway.current.number;
    },
    describe: () => gateway.describe(),
    effectiveConfig: () => maskGatewayConfig(writeConfig(gateway.current.config), file?.secrets),
    renew: (record) => renew(compiled(), record),
    refusal: (principal, policy) => compiled().guard.refusal(principal, policy),
    shows: (item, principal) => compiled().shows(item, principal),
    exists: (item, principal) => compiled().exists(item, principal),
    exposes: (server, tool) => compiled().exposes(server, tool),
    timeouts: (call) => compiled().allowance(call),
  };
}

/** Somebody with the rights of now; see `GatewayInfo.renew`. */
function renew(
  { open, authenticators }: Pick<Generation["compiled"], "open" | "authenticators">,
  record: KeptPrincipal,
): Principal | undefined {
  const { ref, expiresAt, origin } = record;
  if (expiresAt !== undefined && expiresAt <= Date.now()) return undefined;
  const principal = restorePrincipal(record);
  if (open) return principal;
  if (origin === undefined) return principal.kind === "anonymous" ? undefined : principal;
  const link = authenticators.find(({ name }) => name === origin);
  // Where that cannot be told, as if it came now: what ends such a credential ends this, too.
  const identity = link?.renew ? link.renew(ref) : link && principal;
  return identity && makePrincipal(identity, origin);
}
