import * as oauth from "oauth4webapi";
import { isGatewayError } from "propylon";
import type { ServerAuth, ProviderFetch } from "propylon/kit";
import { authenticationOf } from "./client.ts";
import { providerFault } from "./faults.ts";
import { requestOptions, type ProviderMetadata } from "./provider.ts";
import { toTokens, type TokenRequest, type AccountTokens } from "./tokens.ts";

/** Errors with which a provider says that what was sent will never be good again (RFC 6749 section 5.2). */
const FINAL: readonly string[] = ["invalid_grant", "invalid_client", "unauthorized_client"];

/** A provider refused for good: somebody has to log in anew. */
export class GrantRefused extends Error {
  /** Whether it does not know the client any more. */
  readonly isClient: boolean;

  constructor(cause: oauth.ResponseBodyError) {
    super("The provider refused.", { cause });
    this.isClient = cause.error === "invalid_client";
  }
}

/** Who asks whom. */
export interface LoginGrant {
  readonly provider: ProviderMetadata;
  readonly auth: ServerAuth;
  readonly fetch: ProviderFetch;
  readonly request: TokenRequest;
}

/** What came back from a person who logged in. */
export interface CodeReturn {
  /** Query of the redirect. */
  readonly query: URLSearchParams;
  readonly state: string;
  readonly verifier: string;
  readonly redirect: string;
}

/**
 * Redeems a code (RFC 6749 section 4.1.3, RFC 7636), after a look at its issuer (RFC 9207) and state.
 *
 * @throws {GatewayError} `upstream_error`
 * @throws {GrantRefused}
 */
export function redeemCode(
  parts: LoginGrant,
  { query, state, verifier, redirect }: CodeReturn,
): Promise<AccountTokens> {
  const { provider } = parts;
  return ask(parts, async (client, authentication, options) => {
    const checked = oauth.validateAuthResponse(provider, client, query, state);
    const response = await oauth.authorizationCodeGrantRequest(
      provider,
      client,
      authentication,
      checked,
      redirect,
      verifier,
      options,
    );
    return oauth.processAuthorizationCodeResponse(provider, client, response);
  });
}

/** Refreshes tokens (RFC 6749 section 6). Throws as {@link redeemCode}. */
export function refreshTokens(parts: LoginGrant, before: AccountTokens): Promise<AccountTokens> {
  const { provider } = parts;
  return ask(
    parts,
    async (client, authentication, options) => {
      const response = await oauth.refreshTokenGrantRequest(
        provider,
        client,
        authentication,
        before.refresh!,
        options,
      );
      return oauth.processRefreshTokenResponse(provider, client, response);
    },
    before,
  );
}

/** Logs in without a person (RFC 6749 section 4.4, RFC 7523). Throws as {@link redeemCode}. */
export function useOwnCredentials(parts: LoginGrant): Promise<AccountTokens> {
  const { provider, request } = parts;
  const scope = request.scopes.join(" ");
  return ask(parts, async (client, authentication, options) => {
    const response = await oauth.clientCredentialsGrantRequest(
      provider,
      client,
      authentication,
      { ...(scope !== "" && { scope }), resource: request.resource },
      options,
    );
    return oauth.processClientCredentialsResponse(provider, client, response);
  });
}

/** Ends tokens at their provider (RFC 7009), where it can. Never rejects: they are forgotten here whatever it says. */
export async function revokeTokens(
  parts: LoginGrant,
  { refresh, access }: AccountTokens,
): Promise<void> {
  const { provider, auth, fetch, request } = parts;
  if (provider.revocation_endpoint === undefined) return;
  try {
    const authentication = await authenticationOf(request.client, auth, provider);
    const client = { client_id: request.client.id };
    const options = requestOptions(fetch);
    await oauth.revocationRequest(provider, client, authentication, refresh ?? access, options);
  } catch {
    // It is away, or knows them no longer.
  }
}

type Asking = (
  client: oauth.Client,
  authentication: oauth.ClientAuth,
  options: oauth.TokenEndpointRequestOptions,
) => Promise<oauth.TokenEndpointResponse>;

async function ask(
  parts: LoginGrant,
  asking: Asking,
  before?: AccountTokens,
): Promise<AccountTokens> {
  const { provider, auth, fetch, request } = parts;
  const authentication = await authenticationOf(request.client, auth, provider);
  const options = {
    ...requestOptions(fetch),
    additionalParameters: { resource: request.resource },
  };
  try {
    const answer = await asking({ client_id: request.client.id }, authentication, options);
    const tokens = toTokens(answer, request, before);
    if (tokens) return tokens;
  } catch (error) {
    throw toFault(error);
  }
  throw providerFault("its token cannot be used");
}

function toFault(error: unknown): unknown {
  if (error instanceof oauth.ResponseBodyError) {
    if (FINAL.includes(error.error)) return new GrantRefused(error);
    return providerFault(`it refused with ${named(error.error)}`, error);
  }
  if (error instanceof oauth.AuthorizationResponseError)
    return providerFault(`it refused with ${named(error.error)}`, error);
  return isGatewayError(error)
    ? error
    : providerFault("its answer is not what the protocol says", error);
}

/** A provider's text in a sentence. */
function named(code: string): string {
  return /^[\w-]{1,60}$/.test(code) ? code : "an error";
}
