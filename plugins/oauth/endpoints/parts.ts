import type { RouteEvent } from "propylon";
import type { OauthResourceService } from "propylon/plugins/oauth-resource";
import type { SignedAccess } from "../tokens/access-tokens.ts";
import type { OauthClients } from "../clients/clients.ts";
import type { Codes } from "../tokens/codes.ts";
import type { Consents } from "../tokens/consents.ts";
import type { Grants } from "../tokens/grants.ts";
import type { KeyRing } from "../tokens/key-ring.ts";
import type { Logins } from "../people/login.ts";
import type { PersonRules } from "../people/person.ts";
import type { Provider } from "../people/provider.ts";
import type { Registrations } from "../clients/registrations.ts";
import type { Targets } from "../tokens/targets.ts";

/** Parts of the authorization server, for its endpoints. */
export interface ServerParts {
  /** Its URL, which is the gateway's (RFC 8414 section 2). */
  readonly issuer: () => string;
  readonly resource: OauthResourceService;
  readonly targets: Targets;
  readonly ring: KeyRing;
  readonly provider: Provider;
  readonly rules: PersonRules;
  readonly clients: OauthClients;
  readonly registrations: Registrations;
  readonly logins: Logins;
  readonly consents: Consents;
  readonly codes: Codes;
  readonly grants: Grants;
  readonly access: SignedAccess;
  /** Where a request comes from, as far as that is counted. */
  readonly addressOf: (event: RouteEvent) => string;
}
