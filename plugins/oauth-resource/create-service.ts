import type { TokenIssuers } from "./issuer/issuers.ts";
import { describedUrls, endpointUrls, type Resources } from "./resources.ts";
import type { ScopeRoles } from "./scopes.ts";
import type { OauthResourceService } from "./service.ts";

/** What the plugin provides. */
export function createResourceService(
  resources: () => Resources,
  scopes: ScopeRoles,
  issuers: TokenIssuers,
): OauthResourceService {
  return {
    root: () => resources().root.url,
    resources: () => describedUrls(resources()),
    endpoints: () => endpointUrls(resources()),
    scopes: scopes.roles,
    accept: (issuer) => issuers.accept(issuer),
  };
}
