import type { Answer, Call, GatewayError } from "propylon";
import { storeKey } from "propylon/store";
import type { ProviderFetch } from "propylon/internal";
import { type HttpServerConfig, readAuth, type ServerAuth } from "propylon/plugins/servers";
import { type LoginChallenge, unite } from "../provider/challenge.ts";
import type { LoginClient } from "../provider/client.ts";
import { askForChallenge, findLogin, type LoginPlace } from "../provider/discovery.ts";
import { loginNeeded, Mismatch, providerFault } from "../provider/faults.ts";
import {
  type CodeReturn,
  type LoginGrant,
  redeemCode,
  refreshTokens,
  revokeTokens,
  useOwnCredentials,
} from "../provider/grants.ts";
import { findProvider, isBrowsable, type ProviderMetadata } from "../provider/provider.ts";
import type { LoginParts } from "./parts.ts";
import { type ClientWish, loginOf } from "../provider/registration.ts";
import type { TokenRequest, AccountTokens } from "../provider/tokens.ts";
import type { Vault } from "../provider/vault.ts";

/** After this the metadata of a provider are read again. */
const FRESH_MS = 600_000;

interface KnownPlace {
  readonly place: Promise<LoginPlace>;
  readonly at: number;
}

/** A login as it begins: what somebody is asked for, and by whom. */
export interface LoginStart {
  readonly provider: ProviderMetadata;
  readonly request: TokenRequest;
  /** Names where it ends; see {@link loginOf}. */
  readonly login: string;
}

/** A server that wants a login: where that is, and how it is done. */
export class LoginServer {
  readonly name: string;
  readonly url: URL;
  readonly auth: ServerAuth;
  readonly vault: Vault<AccountTokens>;
  readonly #parts: LoginParts;
  readonly #fetch: ProviderFetch;
  /** What the server said when it refused; `undefined` before it did. */
  #challenge: LoginChallenge | undefined;
  #place: KnownPlace | undefined;
  readonly #providers = new Map<string, Promise<ProviderMetadata>>();

  constructor(name: string, config: HttpServerConfig, parts: LoginParts) {
    this.name = name;
    this.url = new URL(config.url);
    this.auth = readAuth(config.auth!);
    this.vault = parts.vault;
    this.#parts = parts;
    const { issuer } = this.auth;
    this.#fetch = parts.http.from(issuer === undefined ? [this.url] : [this.url, new URL(issuer)]);
  }

  /** Whether it needs no person. */
  get isMachine(): boolean {
    return this.auth.grant === "client_credentials";
  }

  /** Whether everybody has an account of their own. */
  get isPersonal(): boolean {
    return this.auth.per === "principal";
  }

  /** Where the tokens of an account are kept: apart for each principal, server and address of it. */
  keyOf(ref: string | undefined): string {
    return storeKey(ref === undefined ? "gateway" : `principal ${ref}`, this.name, this.url.href);
  }

  /** Remembers what the server said with a 401. @param hadToken it refused a token: it may want those of another provider now */
  said(challenge: LoginChallenge, hadToken: boolean): void {
    if (hadToken || challenge.metadata !== this.#challenge?.metadata) this.#place = undefined;
    this.#challenge = challenge;
  }

  loginNeeded(): GatewayError {
    return loginNeeded(this.name, this.isPersonal);
  }

  /** Begins a login. @param wanted scopes besides those that the server asks for */
  begin(wanted: readonly string[]): Promise<LoginStart> {
    return this.#parts.failed.watch(this.name, "start", () => this.#begin(wanted));
  }

  async #begin(wanted: readonly string[]): Promise<LoginStart> {
    const { provider, resource, scopes } = await this.#where();
    this.#checkBrowsable(provider);
    const client = await this.#clientAt(provider);
    const known = this.auth.scopes ?? this.#challenge?.scopes ?? scopes ?? [];
    const all = unite(unite(known, wanted), offline(provider, this.auth));
    return {
      provider,
      request: { issuer: provider.issuer, resource, client, scopes: [...all] },
      login: this.#loginAt(provider.issuer),
    };
  }

  /** Ends a login with what its person brought. */
  finish(request: TokenRequest, returned: CodeReturn): Promise<AccountTokens> {
    return this.#parts.failed.watch(this.name, "code", async () =>
      redeemCode(await this.#grant(request), returned),
    );
  }

  refresh(tokens: AccountTokens): Promise<AccountTokens> {
    return this.#parts.failed.watch(this.name, "refresh", async () =>
      refreshTokens(await this.#grant(tokens), tokens),
    );
  }

  /** Without a person. */
  logIn(wanted: readonly string[]): Promise<AccountTokens> {
    return this.#parts.failed.watch(this.name, "credentials", () => this.#logIn(wanted));
  }

  async #logIn(wanted: readonly string[]): Promise<AccountTokens> {
    const { provider, resource, scopes } = await this.#where();
    const client = await this.#clientAt(provider);
    const known = this.auth.scopes ?? this.#challenge?.scopes ?? scopes ?? [];
    const request = {
      issuer: provider.issuer,
      resource,
      client,
      scopes: [...unite(known, wanted)],
    };
    return useOwnCredentials({ provider, auth: this.auth, fetch: this.#fetch, request });
  }

  async revoke(tokens: AccountTokens): Promise<void> {
    await this.#grant(tokens).then(
      (parts) => revokeTokens(parts, tokens),
      () => undefined,
    );
  }

  /** Forgets the client that a provider does not know any more. */
  forgetClient(issuer: string): Promise<void> {
    return this.#parts.registrations.forget(issuer, this.#wishAt(issuer));
  }

  askFor(call: Call, error: GatewayError): Promise<Answer | undefined> {
    return this.#parts.asking.ask(call, this.name, error);
  }

  /** Does something that of all replicas of a store one may do at a time. */
  alone(key: string, work: () => Promise<void>): Promise<void> {
    return this.#parts.alone(key, work);
  }

  #where(): Promise<LoginPlace> {
    if (this.#place && Date.now() - this.#place.at < FRESH_MS) return this.#place.place;
    const place = this.#find();
    const known = { place, at: Date.now() };
    this.#place = known;
    place.catch(() => {
      if (this.#place === known) this.#place = undefined;
    });
    return place;
  }

  async #find(): Promise<LoginPlace> {
    this.#challenge ??= await askForChallenge(this.url, this.#fetch);
    return findLogin(this.url, this.#challenge, this.auth.issuer, this.#fetch);
  }

  /** Of tokens, whose server need not be asked where they came from. */
  async #grant(request: TokenRequest): Promise<LoginGrant> {
    const provider = await this.#providerOf(request.issuer);
    return { provider, auth: this.auth, fetch: this.#fetch, request };
  }

  #providerOf(issuer: string): Promise<ProviderMetadata> {
    const known = this.#providers.get(issuer);
    if (known) return known;
    const finding = findProvider(new URL(issuer), this.url, this.#fetch);
    this.#providers.clear();
    this.#providers.set(issuer, finding);
    finding.catch(() => this.#providers.delete(issuer));
    return finding;
  }

  #clientAt(provider: ProviderMetadata): Promise<LoginClient> {
    const wish = this.#wishAt(provider.issuer);
    return this.#parts.registrations.find(this.name, this.auth, provider, wish, this.#fetch);
  }

  #loginAt(issuer: string): string {
    return loginOf(this.name, this.auth, issuer);
  }

  #wishAt(issuer: string): ClientWish {
    return { login: this.#loginAt(issuer), introduction: this.#parts.introduction() };
  }

  #checkBrowsable({
    authorization_endpoint: url,
    code_challenge_methods_supported: methods,
  }: ProviderMetadata): void {
    if (url === undefined || !isBrowsable(url)) throw providerFault("it has no page to log in on");
    // Without it a stolen code could be redeemed (OAuth 2.1 section 7.5.1; MCP, Authorization Code Protection).
    if (methods?.includes("S256")) return;
    if (methods === undefined && this.auth.pkce === "assume") return;
    throw providerFault(
      "it does not say that it supports PKCE with S256",
      new Mismatch(
        "code_challenge_methods_supported with S256",
        methods?.slice(0, 5).join(", ") ?? "no such member",
      ),
      `If it does, set servers.${this.name}.auth.issuer, and servers.${this.name}.auth.pkce: assume.`,
    );
  }
}

/** A refresh token is what the gateway needs to work on while nobody is there. */
function offline(
  { scopes_supported: scopes }: ProviderMetadata,
  { scopes: own }: ServerAuth,
): string[] {
  return own === undefined && scopes?.includes("offline_access") ? ["offline_access"] : [];
}
