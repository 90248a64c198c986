import { GatewayError, type PluginContext, type RouteOptions } from "propylon";
import { PUBLIC_KEY_ALGORITHMS } from "propylon/plugins/keys";
import { registerAdminRoutes } from "./endpoints/admin-routes.ts";
import type { Authorization } from "./endpoints/authorization.ts";
import { jsonEndpoint, pageEndpoint, type OnRefusal } from "./endpoints/endpoint.ts";
import { MAX_BODY } from "./tokens/form.ts";
import type { OauthOptions } from "./options.ts";
import type { ServerParts } from "./endpoints/parts.ts";
import { registerClient } from "./endpoints/registration-endpoint.ts";
import { CLIENT_AUTH_METHODS } from "./clients/registrations.ts";
import type { TokenEndpoint } from "./endpoints/token-endpoint.ts";

/** What serves the routes. */
export interface OauthEndpoints {
  readonly parts: ServerParts;
  readonly authorization: Authorization;
  readonly tokens: TokenEndpoint;
  readonly onRefusal: OnRefusal;
}

/** Where the metadata of an authorization server are (RFC 8414 section 3). */
const SERVER_METADATA = "/.well-known/oauth-authorization-server";
/** How long another gateway may keep the keys without asking again, in seconds. */
const KEYS_AGE_S = 300;

/** Serves the authorization server: for everyone, as nobody has a token yet. */
export function registerRoutes(
  gateway: Pick<PluginContext<OauthOptions>, "route" | "config">,
  { parts, authorization, tokens, onRefusal }: OauthEndpoints,
): void {
  // Nothing of the gateway is changed: logins work in read-only mode.
  const policy: RouteOptions = { access: "public", mutates: false, bodyLimit: MAX_BODY };
  // No program asks here, only people's browsers come (RFC 9700 section 2.6).
  const page: RouteOptions = { ...policy, cors: false };
  const { documents, registration } = gateway.config;
  registerAdminRoutes(gateway, parts);
  const describe = (): object =>
    metadataOf(parts.issuer(), {
      documents,
      isOpen: registration.enabled,
      scopes: [...parts.resource.scopes.keys()],
    });
  gateway.route("GET", SERVER_METADATA, policy, describe);
  // Behind a path of the public URL, and where older programs look: behind that of the endpoint.
  gateway.route("GET", `${SERVER_METADATA}/**`, policy, ({ url }) => {
    if (isOwnPath(url.pathname.slice(SERVER_METADATA.length), parts)) return describe();
    throw new GatewayError("not_found", "Nobody logs in here.");
  });
  gateway.route("GET", "/oauth/jwks.json", policy, (event) => {
    event.res.headers.set("cache-control", `public, max-age=${KEYS_AGE_S}`);
    return { keys: parts.ring.keys.map(({ jwk }) => jwk) };
  });
  gateway.route(
    "GET",
    "/oauth/authorize",
    page,
    pageEndpoint((event) => authorization.begin(event), onRefusal),
  );
  gateway.route(
    "GET",
    "/oauth/callback",
    page,
    pageEndpoint((event) => authorization.return(event), onRefusal),
  );
  gateway.route(
    "POST",
    "/oauth/consent",
    page,
    pageEndpoint((event) => authorization.answer(event), onRefusal),
  );
  gateway.route(
    "POST",
    "/oauth/token",
    policy,
    jsonEndpoint((event) => tokens.token(event), onRefusal),
  );
  gateway.route(
    "POST",
    "/oauth/revoke",
    policy,
    jsonEndpoint((event) => tokens.revoke(event), onRefusal),
  );
  if (registration.enabled)
    gateway.route(
      "POST",
      "/oauth/register",
      policy,
      jsonEndpoint((event) => registerClient(event, parts), onRefusal, 201),
    );
}

function isOwnPath(rest: string, { issuer, resource }: ServerParts): boolean {
  const paths = [issuer(), ...resource.resources()].map((url) => new URL(url).pathname);
  return paths.includes(rest);
}

interface Described {
  readonly documents: boolean;
  readonly isOpen: boolean;
  readonly scopes: readonly string[];
}

/** RFC 8414 section 2. */
function metadataOf(issuer: string, { documents, isOpen, scopes }: Described): object {
  const methods = [...CLIENT_AUTH_METHODS, ...(documents ? ["private_key_jwt"] : [])];
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    jwks_uri: `${issuer}/oauth/jwks.json`,
    ...(isOpen && { registration_endpoint: `${issuer}/oauth/register` }),
    ...(scopes.length > 0 && { scopes_supported: scopes }),
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_methods_supported: methods,
    ...(documents && {
      token_endpoint_auth_signing_alg_values_supported: PUBLIC_KEY_ALGORITHMS,
      revocation_endpoint_auth_signing_alg_values_supported: PUBLIC_KEY_ALGORITHMS,
    }),
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: documents,
  };
}
