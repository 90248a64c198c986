import * as oauth from "oauth4webapi";
import { GatewayError } from "propylon";
import { digestOf, isLoopback, isObject } from "propylon/kit";
import { storeKey } from "propylon/store";
import type { ProviderFetch } from "propylon/internal";
import type { ServerAuth } from "propylon/plugins/servers";
import type { LoginClient } from "./client.ts";
import { Mismatch, providerFault } from "./faults.ts";
import { requestOptions, type ProviderMetadata } from "./provider.ts";
import type { Vault } from "./vault.ts";

/** How the gateway introduces itself. */
export interface Introduction {
  /** Name that people are shown. */
  readonly name: string;
  /** Address of the pages of logins, without a slash at its end. */
  readonly base: string;
}

/**
 * Names what a server and its authorization server have in common: where logins end, and which client they use. A code that one
 * of them got comes back at an address that no other has, so that it is not redeemed at another's token endpoint (mix-up, RFC
 * 9700 section 4.4.2). A client that an operator registered belongs to its server alone, and is pinned to its first issuer.
 */
export function loginOf(server: string, { client }: ServerAuth, issuer: string): string {
  if (client.id !== undefined || client.metadataUrl !== undefined) return server;
  return digestOf(storeKey(server, issuer)).slice(0, LOGIN_LENGTH);
}

/** Whether something can be the digest of {@link loginOf}. */
export function isLogin(text: string): boolean {
  return text.length === LOGIN_LENGTH && /^[\w-]+$/.test(text);
}

const LOGIN_LENGTH = 32;

/** Where a login ends. */
export function redirectOf({ base }: Introduction, login: string): string {
  return `${base}/callback/${login}`;
}

/** Where the metadata document of a login's client is, if authorization servers can read one. */
export function documentOf({ base }: Introduction, login: string): string | undefined {
  return base.startsWith("https:") ? `${base}/clients/${login}` : undefined;
}

/** A client to be: of which login, and how it introduces itself. */
export interface ClientWish {
  readonly login: string;
  readonly introduction: Introduction;
}

/** Makes the gateway known to authorization servers. Each has what it gave, and no other sees it. */
export class ClientRegistrations {
  readonly #clients: Vault<LoginClient>;
  readonly #issuers: Vault<string>;
  readonly #running = new Map<string, Promise<LoginClient>>();

  /**
   * @param clients by issuer and redirect URI, as they registered
   * @param issuers by server and client id: where the operator's clients were first used
   */
  constructor(clients: Vault<LoginClient>, issuers: Vault<string>) {
    this.#clients = clients;
    this.#issuers = issuers;
  }

  /**
   * The client to be: the config's, a metadata document, or a registration (RFC 7591).
   *
   * @throws {GatewayError} `upstream_error`, `invalid` where it can be none
   */
  async find(
    server: string,
    { client, issuer }: ServerAuth,
    provider: ProviderMetadata,
    wish: ClientWish,
    fetch: ProviderFetch,
  ): Promise<LoginClient> {
    if (client.id !== undefined) {
      if (issuer === undefined) await this.#checkIssuer(server, client.id, provider);
      return { id: client.id, secret: client.secret };
    }
    const document = client.metadataUrl ?? documentOf(wish.introduction, wish.login);
    const takes = provider["client_id_metadata_document_supported"] === true;
    if (takes && document !== undefined) return { id: document, method: "none" };
    if (provider.registration_endpoint === undefined)
      throw unknownClient(server, wish.introduction);
    return this.#register(provider, wish, fetch);
  }

  /** Forgets what a provider does not know any more. */
  async forget(issuer: string, { introduction, login }: ClientWish): Promise<void> {
    await this.#clients.remove(storeKey(issuer, redirectOf(introduction, login)));
  }

  /** A server that names another authorization server later must not get the secret sent there. */
  async #checkIssuer(server: string, id: string, { issuer }: ProviderMetadata): Promise<void> {
    const key = storeKey(server, id);
    const known = await this.#issuers.get(key);
    if (known === undefined) return void (await this.#issuers.put(key, issuer));
    if (known.value === issuer) return;
    throw new GatewayError(
      "invalid",
      `The server "${server}" names another authorization server than the one that its client id was used at.`,
      { hint: `Set servers.${server}.auth.issuer to the one that gave the client id.` },
    );
  }

  async #register(
    provider: ProviderMetadata,
    wish: ClientWish,
    fetch: ProviderFetch,
  ): Promise<LoginClient> {
    const key = storeKey(provider.issuer, redirectOf(wish.introduction, wish.login));
    const known = await this.#clients.get(key);
    if (known) return known.value;
    const running = this.#running.get(key);
    if (running) return running;
    const registering = register(provider, wish, fetch)
      .then(async (client) => {
        await this.#clients.put(key, client);
        return client;
      })
      .finally(() => this.#running.delete(key));
    this.#running.set(key, registering);
    return registering;
  }
}

/** What an authorization server is told of the gateway, by a registration or a metadata document. */
export function describeClient({
  introduction,
  login,
}: ClientWish): Record<string, oauth.JsonValue> {
  const redirect = redirectOf(introduction, login);
  return {
    client_name: introduction.name,
    redirect_uris: [redirect],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    // Providers of OpenID Connect take loopback addresses of native applications only.
    application_type: isLoopback(new URL(redirect).hostname) ? "native" : "web",
    token_endpoint_auth_method: "none",
  };
}

async function register(
  provider: ProviderMetadata,
  wish: ClientWish,
  fetch: ProviderFetch,
): Promise<LoginClient> {
  const wanted = {
    ...describeClient(wish),
    token_endpoint_auth_method: methodFor(provider),
  };
  try {
    const response = await oauth.dynamicClientRegistrationRequest(
      provider,
      wanted,
      requestOptions(fetch),
    );
    return await readClient(response);
  } catch (error) {
    const isOwn = error instanceof GatewayError;
    throw isOwn ? error : providerFault("it does not take the gateway's registration", error);
  }
}

/** Read here, because the library wants `client_secret_expires_at`, which RFC 7591 requires and many leave out. */
async function readClient(response: Response): Promise<LoginClient> {
  const body: unknown = await response.json().catch(() => undefined);
  const {
    client_id: id,
    client_secret: secret,
    token_endpoint_auth_method: method,
    error,
  } = isObject(body) ? body : {};
  if (!response.ok || typeof id !== "string" || id === "") {
    const code = typeof error === "string" && /^[\w-]{1,60}$/.test(error) ? ` and ${error}` : "";
    throw providerFault(
      `it answered the gateway's registration with HTTP ${response.status}${code}`,
      new Mismatch("HTTP 201 with client_id", `HTTP ${response.status}${code}`),
    );
  }
  return {
    id,
    ...(typeof secret === "string" && { secret }),
    ...(typeof method === "string" && { method }),
  };
}

/** Without a secret where that is enough: PKCE protects the code, and what is not there cannot leak. */
function methodFor({
  token_endpoint_auth_methods_supported: methods = [],
}: ProviderMetadata): string {
  const known = ["none", "client_secret_basic", "client_secret_post"];
  return known.find((method) => methods.includes(method)) ?? "client_secret_basic";
}

function unknownClient(server: string, introduction: Introduction): GatewayError {
  return new GatewayError(
    "invalid",
    `The authorization server of "${server}" does not know the gateway, and takes no registration.`,
    {
      hint: `Register the gateway there with the redirect URI ${redirectOf(introduction, server)}, and set servers.${server}.auth.client.id.`,
    },
  );
}
