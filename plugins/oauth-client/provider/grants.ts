import * as oauth from "oauth4webapi";
import { isGatewayError } from "propylon";
import { isObject } from "propylon/kit";
import { maskSaid, type ProviderFetch } from "propylon/internal";
import type { ServerAuth } from "propylon/plugins/servers";
import { authenticationOf } from "./client.ts";
import { Mismatch, providerFault } from "./faults.ts";
import { requestOptions, type ProviderMetadata } from "./provider.ts";
import { readTokenAnswer } from "./token-answer.ts";
import { toTokens, type TokenRequest, type AccountTokens } from "./tokens.ts";

/** Errors with which a provider says that what was sent will never be good again (RFC 6749 section 5.2; Slack, GitHub). */
const FINAL: readonly string[] = [
  "invalid_grant",
  "invalid_client",
  "unauthorized_client",
  "invalid_refresh_token",
  "bad_refresh_token",
  "token_revoked",
];

/** A provider refused for good: somebody has to log in again. */
export class GrantRefused extends Error {
  /** Whether it does not know the client any more. */
  readonly isClient: boolean;
  /** Its error. */
  readonly reason: string;
  readonly mismatch: Mismatch;

  constructor(cause: oauth.ResponseBodyError, mismatch: Mismatch) {
    const reason = named(cause.error);
    super(`The provider refused with ${reason}.`, { cause });
    this.isClient = cause.error === "invalid_client";
    this.reason = reason;
    this.mismatch = mismatch;
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
  const secrets = [query.get("code") ?? "", verifier];
  return ask(parts, { secrets }, async (client, authentication, options) => {
    checkIssuer(provider, query);
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
    const answer = await readTokenAnswer(response);
    return oauth.processAuthorizationCodeResponse(provider, client, answer);
  });
}

/** Refreshes tokens (RFC 6749 section 6). Throws as {@link redeemCode}. */
export function refreshTokens(parts: LoginGrant, before: AccountTokens): Promise<AccountTokens> {
  const { provider } = parts;
  const secrets = [before.refresh!, before.access];
  return ask(parts, { before, secrets }, async (client, authentication, options) => {
    const response = await oauth.refreshTokenGrantRequest(
      provider,
      client,
      authentication,
      before.refresh!,
      options,
    );
    const answer = await readTokenAnswer(response);
    return oauth.processRefreshTokenResponse(provider, client, answer);
  });
}

/** Logs in without a person (RFC 6749 section 4.4, RFC 7523). Throws as {@link redeemCode}. */
export function useOwnCredentials(parts: LoginGrant): Promise<AccountTokens> {
  const { provider, request } = parts;
  const scope = request.scopes.join(" ");
  return ask(parts, { secrets: [] }, async (client, authentication, options) => {
    const response = await oauth.clientCredentialsGrantRequest(
      provider,
      client,
      authentication,
      { ...(scope !== "" && { scope }), resource: request.resource },
      options,
    );
    const answer = await readTokenAnswer(response);
    return oauth.processClientCredentialsResponse(provider, client, answer);
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

/** What is sent, which an answer may repeat. */
interface Sent {
  readonly secrets: readonly string[];
  /** Tokens that are refreshed. */
  readonly before?: AccountTokens;
}

async function ask(
  parts: LoginGrant,
  { secrets, before }: Sent,
  asking: Asking,
): Promise<AccountTokens> {
  const { provider, auth, fetch, request } = parts;
  const { id, secret } = request.client;
  const authentication = await authenticationOf(request.client, auth, provider);
  const options = {
    ...requestOptions(fetch),
    additionalParameters: { resource: request.resource },
  };
  try {
    const answer = await asking({ client_id: id }, authentication, options);
    return toTokens(answer, request, before);
  } catch (error) {
    throw toFault(error, secret === undefined ? secrets : [...secrets, secret]);
  }
}

/** RFC 9207 section 2.4, with words of its own: this is what a mix-up looks like. */
function checkIssuer(provider: ProviderMetadata, query: URLSearchParams): void {
  const issuers = query.getAll("iss");
  const isPromised = provider.authorization_response_iss_parameter_supported === true;
  if (issuers.length === 0 ? !isPromised : issuers.length === 1 && issuers[0] === provider.issuer)
    return;
  const why =
    issuers.length === 0
      ? "the login came back without the issuer that it has to name"
      : "the login came back from another issuer";
  const came = issuers.length === 0 ? "none" : issuers.slice(0, 2).join(" and ");
  throw providerFault(why, new Mismatch(`iss ${provider.issuer}`, `iss ${came}`));
}

function toFault(error: unknown, secrets: readonly string[]): unknown {
  if (isGatewayError(error)) return error;
  if (error instanceof oauth.ResponseBodyError) {
    const mismatch = saidOf(error.error, error.error_description, "access_token", secrets);
    if (FINAL.includes(error.error)) return new GrantRefused(error, mismatch);
    return providerFault(`it refused with ${named(error.error)}`, mismatch);
  }
  if (error instanceof oauth.AuthorizationResponseError)
    return providerFault(
      `it refused with ${named(error.error)}`,
      saidOf(error.error, error.error_description, "code", secrets),
    );
  return libraryFault(error);
}

/** What the library found to be wrong. Its own words hold no value of the answer. */
function libraryFault(error: unknown): unknown {
  const { message, cause } = error instanceof Error ? error : new Error("an error");
  const { claim, claims, expected } = isObject(cause) ? cause : {};
  if (typeof claim !== "string" || !isObject(claims))
    return providerFault(
      "its answer is not what the protocol says",
      new Mismatch("an answer as RFC 6749 has it", message),
    );
  const wanted = expected === undefined ? `another ${claim}` : JSON.stringify(expected);
  return providerFault(
    `the ${claim} of its id_token is not the one that was expected`,
    new Mismatch(`${claim} ${wanted}`, `${claim} ${JSON.stringify(claims[claim])}`),
  );
}

/** An error with its description, in which some providers repeat what they were sent. */
function saidOf(
  code: string,
  description: unknown,
  expected: string,
  secrets: readonly string[],
): Mismatch {
  const text = typeof description === "string" ? `: ${description.slice(0, 1_000)}` : "";
  return new Mismatch(expected, `${named(code)}${maskSaid(text, secrets.filter(Boolean))}`);
}

/** A provider's text in a sentence. */
function named(code: string): string {
  return /^[\w-]{1,60}$/.test(code) ? code : "an error";
}
