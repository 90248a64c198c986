import type { Answer, Call } from "propylon";
import type { ServerAccount, ServerRefusal } from "propylon/plugins/servers";
import { readChallenge, unite } from "../provider/challenge.ts";
import { isLoginNeeded, providerFault } from "../provider/faults.ts";
import { GrantRefused } from "../provider/grants.ts";
import type { LoginServer } from "./login-server.ts";
import type { AccountTokens } from "../provider/tokens.ts";

/** So long before they end, tokens are refreshed beside the calls. */
const EARLY_MS = 60_000;
/** So long before they end, calls wait for the refresh. */
const LATE_MS = 5_000;
/** After a failure a provider is asked so often at most. */
const RETRY_MS = 5_000;
/** After so long without a request the tokens are in the store alone, sealed. */
const IDLE_MS = 300_000;

/** One account at one server: the gateway's, or a principal's. */
export class LoginAccount implements ServerAccount {
  readonly #server: LoginServer;
  readonly #ref: string | undefined;
  readonly #key: string;
  #tokens: AccountTokens | undefined;
  #header: string | undefined;
  /** Until when the header goes out without a look at anything else, in milliseconds since 1970. */
  #freshUntil = 0;
  #isLoaded = false;
  #usedAt = 0;
  #idle: NodeJS.Timeout | undefined;
  /** One at a time, for all who wait. */
  #renewing: Promise<void> | undefined;
  #failure: { readonly error: unknown; readonly until: number } | undefined;
  /** Scopes that the server wants besides those that were given. */
  #wanted: readonly string[] = [];

  /** @param ref whose it is; `undefined`: the gateway's */
  constructor(server: LoginServer, ref: string | undefined) {
    this.#server = server;
    this.#ref = ref;
    this.#key = server.keyOf(ref);
  }

  /** The tokens there are. @throws {GatewayError} `unavailable` */
  async tokens(): Promise<AccountTokens | undefined> {
    if (!this.#isLoaded) await this.#load();
    return this.#tokens;
  }

  /** What a login is to ask for besides what the server itself wants. */
  get wanted(): readonly string[] {
    return this.#wanted;
  }

  authorization(): string | undefined | Promise<string | undefined> {
    const now = Date.now();
    this.#usedAt = now;
    if (now < this.#freshUntil) return this.#header;
    return this.#renewed();
  }

  async refused({ status, challenge, authorization }: ServerRefusal): Promise<boolean> {
    const said = readChallenge(challenge);
    // Somebody else was refused before, and has others by now.
    if (this.#header !== undefined && this.#header !== authorization) return true;
    if (status === 401) this.#server.said(said, authorization !== undefined);
    else return said.error === "insufficient_scope" && (await this.#stepUp(said.scopes ?? []));
    if (await this.#reload()) return true;
    if (this.#server.isMachine) return this.#logInAgain(authorization);
    // A server that refuses what is new would have it made without end.
    if (this.#tokens?.refresh !== undefined && this.#age >= RETRY_MS) {
      await this.#once(() => this.#refresh());
      if (this.#header !== undefined && this.#header !== authorization) return true;
    }
    throw this.#server.loginNeeded();
  }

  login(call: Call, error: unknown): Promise<Answer | undefined> {
    // Nobody is asked to log in for somebody else.
    if (!isLoginNeeded(error) || call.principal.ref !== this.#ref) throw error;
    return this.#server.askFor(call, error);
  }

  /** Keeps new tokens. @throws {GatewayError} `unavailable` */
  async keep(tokens: AccountTokens): Promise<void> {
    await this.#server.vault.put(this.#key, tokens);
    this.#use(tokens);
    this.#wanted = [];
    this.#failure = undefined;
  }

  /** Forgets what is in memory: the store has others. */
  forget(): void {
    this.#use(undefined);
    this.#isLoaded = false;
  }

  /** Ends the tokens, at their provider too. @returns whether there were any. @throws {GatewayError} `unavailable` */
  async logOut(): Promise<boolean> {
    const tokens = await this.tokens();
    if (!tokens) return false;
    await this.#drop();
    await this.#server.revoke(tokens);
    return true;
  }

  async #renewed(): Promise<string | undefined> {
    if (!this.#isLoaded) await this.#load();
    const { expiresAt = Infinity, refresh } = this.#tokens ?? {};
    const left = expiresAt - Date.now();
    if (this.#tokens && left > EARLY_MS) return this.#header;
    const canRenew = this.#server.isMachine ? this.#tokens !== undefined : refresh !== undefined;
    if (canRenew) await this.#renewIn(left);
    if (this.#tokens && !canRenew && left <= 0) await this.#drop();
    return this.#header;
  }

  /** Calls wait only where the tokens are about to end. A provider that is away ends none before their time. */
  async #renewIn(left: number): Promise<void> {
    const renewing = this.#once(() => (this.#server.isMachine ? this.#logIn() : this.#refresh()));
    if (left > LATE_MS) return void renewing.catch(() => undefined);
    await renewing.catch((error: unknown) => {
      if (left <= 0) throw error;
    });
  }

  async #load(): Promise<void> {
    const kept = await this.#server.vault.get(this.#key);
    if (!this.#isLoaded) this.#use(kept?.value);
  }

  /** Another replica of the store may have refreshed them. */
  async #reload(): Promise<boolean> {
    const before = this.#tokens?.access;
    const kept = await this.#server.vault.get(this.#key);
    if (kept?.value.access !== before) this.#use(kept?.value);
    return this.#tokens?.access !== before;
  }

  async #stepUp(scopes: readonly string[]): Promise<boolean> {
    const asked = this.#tokens?.scopes ?? [];
    const wanted = unite(asked, scopes);
    // It was asked for all of that already: asking again would never end.
    if (wanted.length === asked.length) return false;
    this.#wanted = wanted;
    if (!this.#server.isMachine) throw this.#server.loginNeeded();
    await this.#once(() => this.#logIn());
    return true;
  }

  /** Of the tokens, in milliseconds. */
  get #age(): number {
    return Date.now() - (this.#tokens?.at ?? 0);
  }

  async #logInAgain(authorization: string | undefined): Promise<boolean> {
    // A token that is refused as soon as it is there will be so the next time.
    if (authorization !== undefined && this.#age < RETRY_MS) return false;
    await this.#once(() => this.#logIn());
    return true;
  }

  /** @throws {GatewayError} that of the last try, while it is a moment ago */
  #once(renew: () => Promise<void>): Promise<void> {
    if (this.#renewing) return this.#renewing;
    if (this.#failure && Date.now() < this.#failure.until)
      return Promise.reject(this.#failure.error);
    this.#renewing = this.#server
      .alone(this.#key, async () => {
        if (this.#tokens && (await this.#reload())) return;
        await renew();
      })
      .then(
        () => (this.#failure = undefined),
        (error: unknown) => {
          if (!isLoginNeeded(error)) this.#failure = { error, until: Date.now() + RETRY_MS };
          throw error;
        },
      )
      .finally(() => (this.#renewing = undefined));
    return this.#renewing;
  }

  async #refresh(): Promise<void> {
    try {
      await this.keep(await this.#server.refresh(this.#tokens!));
    } catch (error) {
      if (!(error instanceof GrantRefused)) throw error;
      await this.#drop();
      throw this.#server.loginNeeded();
    }
  }

  async #logIn(): Promise<void> {
    try {
      await this.keep(await this.#server.logIn(this.#wanted));
    } catch (error) {
      if (error instanceof GrantRefused)
        throw providerFault(`it refused the gateway with ${error.reason}`, error);
      throw error;
    }
  }

  async #drop(): Promise<void> {
    await this.#server.vault.remove(this.#key);
    this.#use(undefined);
  }

  /** Somebody who gets hold of the memory finds the tokens of those who are at work, and of nobody else. */
  #watch(): void {
    clearTimeout(this.#idle);
    if (this.#tokens === undefined) return;
    this.#idle = setTimeout(() => {
      const isIdle = !this.#renewing && Date.now() - this.#usedAt >= IDLE_MS;
      if (isIdle) this.forget();
      else this.#watch();
    }, IDLE_MS).unref();
  }

  #use(tokens: AccountTokens | undefined): void {
    this.#isLoaded = true;
    this.#tokens = tokens;
    this.#header = tokens && `Bearer ${tokens.access}`;
    const isDue = tokens?.refresh !== undefined || this.#server.isMachine;
    const end = tokens?.expiresAt ?? Infinity;
    // Without tokens each request looks, as another replica may have got some.
    this.#freshUntil = tokens === undefined ? 0 : isDue ? end - EARLY_MS : end;
    this.#watch();
  }
}
