import type { GatewayConfig, PluginContext, RouteEvent, Service } from "propylon";
import { z } from "zod";
import { createSealer, perGeneration } from "propylon/kit";
import { passingSealer, placeOf, TrustedProxies } from "propylon/internal";
import type { Store } from "propylon/store";
import type { OauthResourceService } from "propylon/plugins/oauth-resource";
import { SignedAccess } from "./tokens/access-tokens.ts";
import { ASSERTION_MS, ClientAssertions } from "./clients/client-assertions.ts";
import { ClientDocuments } from "./clients/client-documents.ts";
import { OauthClients } from "./clients/clients.ts";
import { CODE_KEPT_MS, Codes, codeSchema } from "./tokens/codes.ts";
import { CONSENT_MS, Consents, consentSchema } from "./tokens/consents.ts";
import { Grants, grantSchema, REVOKED_MS } from "./tokens/grants.ts";
import { KeyRing, ringSchema } from "./tokens/key-ring.ts";
import { Logins } from "./people/login.ts";
import { OpaqueTexts } from "./opaque.ts";
import type { OauthOptions } from "./options.ts";
import type { ServerParts } from "./endpoints/parts.ts";
import { PersonRules } from "./people/person.ts";
import { Provider } from "./people/provider.ts";
import {
  Registrations,
  registrationRecordSchema,
  UNUSED_MS,
  USED_MS,
} from "./clients/registrations.ts";
import { Targets } from "./tokens/targets.ts";

type Context = PluginContext<
  OauthOptions,
  { readonly resource: Service<OauthResourceService>; readonly store: typeof Store }
>;

/** A server, and what it holds open. */
export interface CreatedServer {
  readonly parts: ServerParts;
  readonly close: () => Promise<void>;
}

/**
 * Makes the parts of the authorization server.
 *
 * @param onRevoked told that a login has ended before its time
 * @throws {GatewayError} `invalid` where secrets would be kept and there is no key to seal them with
 */
export function createServer(
  gateway: Context,
  onRevoked: (grant: string, reason: string) => void,
): CreatedServer {
  const { config } = gateway;
  const { resource, store } = gateway.services;
  const issuer = (): string => resource.root();
  // What does not outlive the process needs no key that does, and a reload may change those of the config.
  const isKept = store.durable || store.shared;
  const given = isKept || config.secretKeys ? createSealer("oauth", config.secretKeys) : undefined;
  const sealer = isKept && given ? given : passingSealer;
  const ring = new KeyRing(store.kv("keys", { schema: ringSchema }), sealer, config.signing);
  const textsOf = (prefix: string): OpaqueTexts => {
    let secret: Buffer | undefined;
    return new OpaqueTexts(prefix, () => (secret ??= ring.derive(prefix)));
  };
  const documents = config.documents ? new ClientDocuments(config.allowedAddresses) : undefined;
  const registrations = new Registrations({
    unused: store.kv("clients", { schema: registrationRecordSchema, ttl: UNUSED_MS }),
    used: store.kv("clients", { schema: registrationRecordSchema, ttl: USED_MS }),
    ids: textsOf("ppi_"),
    secrets: textsOf("pps_"),
    options: config.registration,
  });
  const assertions = new ClientAssertions({
    issuer,
    used: store.kv("assertions", { schema: z.literal(true), ttl: ASSERTION_MS }),
  });
  const grants = new Grants({
    kv: store.kv("grants", { schema: grantSchema, ttl: config.login }),
    revoked: store.kv("revoked", { ttl: REVOKED_MS }),
    tokens: textsOf("ppr_"),
    login: config.login,
    reuseGrace: config.reuseGrace,
    onRevoked,
  });
  const targets = new Targets(resource);
  const provider = new Provider(config, () => `${issuer()}/oauth/callback`);
  const parts: ServerParts = {
    issuer,
    resource,
    targets,
    ring,
    provider,
    rules: new PersonRules(config),
    clients: new OauthClients(config.clients, documents, registrations, assertions),
    registrations,
    logins: new Logins(
      () => ring.derive("login"),
      () => issuer().startsWith("https:"),
    ),
    consents: new Consents(store.kv("consents", { schema: consentSchema, ttl: CONSENT_MS })),
    codes: new Codes(
      store.kv("codes", { schema: codeSchema, ttl: CODE_KEPT_MS }),
      textsOf("ppc_"),
      (grant) =>
        grants.revoke(grant, "A code was used twice, so it may be stolen: the login has ended."),
    ),
    grants,
    access: new SignedAccess({
      ring,
      issuer,
      life: config.accessToken,
      targets,
      isLive: (grant) => grants.isLive(grant),
    }),
    addressOf: addressesOf(gateway),
  };
  const close = async (): Promise<void> => {
    await Promise.all([provider.close(), documents?.close()]);
  };
  return { parts, close };
}

/** Behind a proxy everybody would share one bound, and one of them could use it up. */
function addressesOf(gateway: Context): (event: RouteEvent) => string {
  const proxies = perGeneration(gateway, () => {
    const { auth } = gateway.info.effectiveConfig() as Pick<GatewayConfig, "auth">;
    return new TrustedProxies(auth.trustedProxies);
  });
  return ({ req }) => {
    const { ip } = req as { ip?: string };
    return placeOf(proxies().clientOf(ip, req.headers.get("x-forwarded-for")));
  };
}
