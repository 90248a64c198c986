import type { AuthorizationServer } from "oauth4webapi";
import { GatewayError } from "propylon";
import type { ProviderFetch, RsaAlgorithm } from "propylon/internal";
import { KeySet, PUBLIC_KEY_ALGORITHMS } from "propylon/plugins/keys";

/** Somebody with an ID token could guess a shorter one (RFC 7518 section 3.2). */
const MIN_SECRET = 32;

/** What the signatures of ID tokens are checked with. */
export interface IdTokenParts {
  readonly metadata: () => Promise<AuthorizationServer>;
  readonly fetch: ProviderFetch;
  readonly clientSecret: string | undefined;
  readonly rsaAlgorithm: RsaAlgorithm;
}

/** The signatures of the login provider's ID tokens (OpenID Connect Core section 3.1.3.7, items 6 to 8). */
export class IdTokens {
  readonly #parts: IdTokenParts;
  readonly #keys: KeySet;

  constructor(parts: IdTokenParts) {
    this.#parts = parts;
    this.#keys = new KeySet(() => this.#read(), parts.rsaAlgorithm);
  }

  /** Reads the provider's keys where they are not known yet. Never rejects. */
  warm(): Promise<void> {
    return this.#keys.warm();
  }

  /**
   * Checks who signed a token that came from the token endpoint.
   *
   * @throws an error of jose for a wrong signature; {FetchFailure} while the keys cannot be read
   */
  async verify(token: string): Promise<void> {
    const { compactVerify, decodeProtectedHeader } = await import("jose");
    const { alg = "none" } = decodeProtectedHeader(token);
    const algorithms = [...PUBLIC_KEY_ALGORITHMS];
    if (alg === "HS256")
      return void (await compactVerify(token, this.#secret(), { algorithms: [alg] }));
    if (algorithms.includes(alg) && (await this.#isVouchedByTls())) return;
    await compactVerify(token, (header, input) => this.#keys.find(header, input), { algorithms });
  }

  /** Of a provider without keys TLS says who it is; nobody does over plain HTTP. */
  async #isVouchedByTls(): Promise<boolean> {
    const { jwks_uri: keys, token_endpoint: endpoint } = await this.#parts.metadata();
    return keys === undefined && new URL(endpoint!).protocol === "https:";
  }

  #secret(): Uint8Array {
    const { clientSecret = "" } = this.#parts;
    if (clientSecret.length >= MIN_SECRET) return new TextEncoder().encode(clientSecret);
    throw idProviderFault(
      `its ID token is signed with the client secret, which must have ${MIN_SECRET} characters or more`,
    );
  }

  async #read(): Promise<unknown> {
    const { jwks_uri: url } = await this.#parts.metadata();
    if (url === undefined) throw idProviderFault("its metadata name no jwks_uri");
    const response = await this.#parts.fetch(url, { headers: { accept: "application/json" } });
    if (response.status !== 200)
      throw idProviderFault(`its key set is answered with HTTP ${response.status}`);
    return response.json();
  }
}

/** @param why the end of a sentence */
export function idProviderFault(why: string, cause?: unknown): GatewayError {
  return new GatewayError("upstream_error", `The OpenID provider cannot be used: ${why}.`, {
    cause,
  });
}
