import type { Client, ClientAuth, AuthorizationServer } from "oauth4webapi";
import { isLoopback } from "propylon/kit";
import { FetchedValue, type ProviderFetch, ProviderHttp } from "propylon/internal";
import { idProviderFault, IdTokens } from "./id-tokens.ts";
import type { OauthOptions } from "../options.ts";
import { OauthError } from "../oauth-error.ts";

/** As everywhere: how far clocks may differ, in seconds. */
const TOLERANCE_S = 30;

/** What a login at the provider is bound to. */
export interface ProviderLogin {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** What the provider says of somebody who logged in. */
export type ProviderClaims = Readonly<Record<string, unknown>>;

/** The OpenID provider where people log in: code with PKCE, state and nonce (OpenID Connect Core section 3.1). */
export class Provider {
  readonly #options: OauthOptions["provider"];
  readonly #redirect: () => string;
  readonly #http: ProviderHttp;
  readonly #fetch: ProviderFetch;
  readonly #idTokens: IdTokens;
  readonly #metadata = new FetchedValue(() => this.#discover());

  /** @param redirect URL of the gateway that the provider sends people back to */
  constructor(options: OauthOptions, redirect: () => string) {
    this.#options = options.provider;
    this.#redirect = redirect;
    this.#http = new ProviderHttp({
      allowedAddresses: options.allowedAddresses,
      option: "plugins.oauth.allowedAddresses",
      timeout: options.provider.timeout,
      fault: idProviderFault,
    });
    this.#fetch = this.#http.from([new URL(options.provider.issuer)]);
    this.#idTokens = new IdTokens({
      metadata: () => this.#metadata.get(),
      fetch: this.#fetch,
      clientSecret: options.provider.clientSecret,
      rsaAlgorithm: options.provider.rsaAlgorithm,
    });
  }

  /** Reads the provider's metadata and keys where they are not known yet. Never rejects. */
  async warm(): Promise<void> {
    await this.#idTokens.warm();
  }

  /** Where a person is sent to log in. @throws {OauthError} while the provider is away */
  async loginUrl({ state, nonce, verifier }: ProviderLogin): Promise<string> {
    const { calculatePKCECodeChallenge } = await import("oauth4webapi");
    const metadata = await this.#known();
    const url = endpointOf(metadata, "authorization_endpoint");
    const parameters = {
      client_id: this.#options.clientId,
      redirect_uri: this.#redirect(),
      response_type: "code",
      scope: [...new Set(["openid", ...this.#options.scopes])].join(" "),
      state,
      nonce,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.href;
  }

  /**
   * Reads who came back.
   *
   * @param answer the URL that the provider sent the person to
   * @throws {OauthError} `access_denied` where the provider says no; others where it cannot be found out
   */
  async finish(answer: URL, login: ProviderLogin): Promise<ProviderClaims> {
    const metadata = await this.#known();
    try {
      return await this.#exchange(metadata, answer, login);
    } catch (error) {
      throw await toLoginError(error);
    }
  }

  /** Ends every connection. */
  close(): Promise<void> {
    return this.#http.close();
  }

  async #exchange(
    metadata: AuthorizationServer,
    answer: URL,
    { state, nonce, verifier }: ProviderLogin,
  ): Promise<ProviderClaims> {
    const oauth = await import("oauth4webapi");
    const client: Client = {
      client_id: this.#options.clientId,
      [oauth.clockTolerance]: TOLERANCE_S,
    };
    const parameters = oauth.validateAuthResponse(metadata, client, answer, state);
    const options = await this.#requestOptions();
    const response = await oauth.authorizationCodeGrantRequest(
      metadata,
      client,
      await this.#authentication(metadata),
      parameters,
      this.#redirect(),
      verifier,
      options,
    );
    const result = await oauth.processAuthorizationCodeResponse(metadata, client, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    });
    // Before anything of it is used (RFC 8725 section 3.3).
    await this.#idTokens.verify(result.id_token!);
    const claims = oauth.getValidatedIdTokenClaims(result)!;
    if (!this.#options.userinfo) return claims;
    const about = await oauth.userInfoRequest(metadata, client, result.access_token, options);
    return {
      ...(await oauth.processUserInfoResponse(metadata, client, claims.sub, about)),
      ...claims,
    };
  }

  /** RFC 6749 section 2.3.1: Basic, unless the provider says that it does not take it. */
  async #authentication({
    token_endpoint_auth_methods_supported: methods,
  }: AuthorizationServer): Promise<ClientAuth> {
    const { ClientSecretBasic, ClientSecretPost, None } = await import("oauth4webapi");
    const { clientSecret } = this.#options;
    if (clientSecret === undefined) return None();
    const isBasic = methods?.includes("client_secret_basic") ?? true;
    return isBasic ? ClientSecretBasic(clientSecret) : ClientSecretPost(clientSecret);
  }

  async #known(): Promise<AuthorizationServer> {
    try {
      return await this.#metadata.get();
    } catch (cause) {
      throw away(cause);
    }
  }

  async #discover(): Promise<AuthorizationServer> {
    const { discoveryRequest, processDiscoveryResponse } = await import("oauth4webapi");
    const issuer = new URL(this.#options.issuer);
    const response = await discoveryRequest(issuer, await this.#requestOptions());
    return processDiscoveryResponse(issuer, response);
  }

  async #requestOptions(): Promise<object> {
    const { allowInsecureRequests, customFetch } = await import("oauth4webapi");
    return {
      [customFetch]: this.#fetch,
      // The options allow it on loopback only, and the client below as well.
      [allowInsecureRequests]: new URL(this.#options.issuer).protocol === "http:",
    };
  }
}

function endpointOf(metadata: AuthorizationServer, member: "authorization_endpoint"): URL {
  const text = metadata[member];
  const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined;
  const isSecure =
    url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  if (url && isSecure) return url;
  throw away(new Error("Its metadata have no usable authorization_endpoint."));
}

function away(cause: unknown): OauthError {
  return new OauthError(
    "temporarily_unavailable",
    "Nobody can log in at the moment: the login provider does not answer as it should. Try again later.",
    { status: 503, cause },
  );
}

async function toLoginError(error: unknown): Promise<OauthError> {
  const [oauth, { errors }] = await Promise.all([import("oauth4webapi"), import("jose")]);
  if (error instanceof oauth.AuthorizationResponseError)
    return new OauthError("access_denied", "The login provider did not let the person in.", {
      status: 403,
      cause: error,
    });
  const refusals = [
    oauth.OperationProcessingError,
    oauth.ResponseBodyError,
    oauth.WWWAuthenticateChallengeError,
    errors.JOSEError,
  ];
  if (refusals.some((refusal) => error instanceof refusal))
    return new OauthError("server_error", "The answer of the login provider is not valid.", {
      cause: error,
    });
  return away(error);
}
