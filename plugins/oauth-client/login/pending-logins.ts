import { randomBytes, timingSafeEqual } from "node:crypto";
import { GatewayError } from "propylon";
import { digestOf, FairQuota } from "propylon/kit";
import * as oauth from "oauth4webapi";
import { z } from "zod";
import type { LoginAccount } from "./account.ts";
import type { LoginAccounts } from "./accounts.ts";
import type { FailedLogins } from "./failed-logins.ts";
import { Mismatch, providerFault } from "../provider/faults.ts";
import { GrantRefused } from "../provider/grants.ts";
import type { LoginServer } from "./login-server.ts";
import { clientSchema } from "../provider/tokens.ts";
import type { Vault } from "../provider/vault.ts";

/** How long a login may take, in milliseconds. */
export const PENDING_MS = 600_000;
/** Most logins of one account holder that are under way. */
const MAX_OWN = 20;
/** Most of all together. */
const MAX_ALL = 10_000;

/** A login that somebody began; only its start knows the words that end it. */
export const pendingSchema = z.object({
  id: z.string(),
  server: z.string(),
  /** Whose account: `ref` of a principal; absent for the gateway's. */
  ref: z.string().optional(),
  verifier: z.string(),
  redirect: z.string(),
  /** Of the cookie that the browser got; absent until one opens what an operator began. */
  browser: z.string().optional(),
  /** Page of the authorization server. */
  location: z.string(),
  request: z.object({
    issuer: z.string(),
    resource: z.string(),
    client: clientSchema,
    scopes: z.array(z.string()).max(1_000),
  }),
});
export type PendingLogin = z.infer<typeof pendingSchema>;

/** How a login ended. */
export const outcomeSchema = z.object({ isDone: z.boolean(), reason: z.string().optional() });
export type ConsentOutcome = z.infer<typeof outcomeSchema>;

/** A login as its person begins it. */
export interface StartedConsent {
  /** Page of the authorization server. */
  readonly location: string;
  /** Names the login for {@link PendingLogins.open}. */
  readonly key: string;
}

/** Who is to log in where. */
export interface ConsentWish {
  readonly id: string;
  readonly server: LoginServer;
  readonly account: LoginAccount;
  readonly ref: string | undefined;
  /** What the browser gets as cookie; absent where an operator begins it, and a browser opens it later. */
  readonly browser: string | undefined;
}

/** Finds the account of a login that ends. */
export type FindAccount = LoginAccounts["find"];

/** Logins under way: each is ended once, by the browser and for the account that began it. */
export class PendingLogins {
  readonly #vault: Vault<PendingLogin>;
  readonly #find: FindAccount;
  readonly #redirect: (login: string) => string;
  readonly #shares = new FairQuota();
  /** What gives back the share of a login, by the digest of its state. */
  readonly #running = new Map<string, () => void>();

  readonly #failed: FailedLogins;

  /** @param redirect where a login of that name ends */
  constructor(
    vault: Vault<PendingLogin>,
    find: FindAccount,
    redirect: (login: string) => string,
    failed: FailedLogins,
  ) {
    this.#vault = vault;
    this.#find = find;
    this.#redirect = redirect;
    this.#failed = failed;
  }

  /**
   * Begins a login.
   *
   * @throws {GatewayError} `rate_limited` for too many at once; `upstream_error` and `invalid` where there can be none
   */
  async begin({ id, server, account, ref, browser }: ConsentWish): Promise<StartedConsent> {
    this.#checkShare(ref ?? "");
    const { provider, request, login } = await server.begin(account.wanted);
    const verifier = oauth.generateRandomCodeVerifier();
    const state = randomBytes(32).toString("base64url");
    const key = digestOf(state);
    this.#reserve(ref ?? "", key);
    const redirect = this.#redirect(login);
    const location = new URL(provider.authorization_endpoint!);
    const scope = request.scopes.join(" ");
    const parameters = {
      response_type: "code",
      client_id: request.client.id,
      redirect_uri: redirect,
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      resource: request.resource,
      ...(scope !== "" && { scope }),
      // OpenID Connect Core section 11: without it the scope is ignored.
      ...(request.scopes.includes("offline_access") && { prompt: "consent" }),
    };
    for (const [name, value] of Object.entries(parameters)) location.searchParams.set(name, value);
    await this.#vault.put(key, {
      id,
      server: server.name,
      ...(ref !== undefined && { ref }),
      verifier,
      redirect,
      ...(browser !== undefined && { browser: digestOf(browser) }),
      location: location.href,
      request,
    });
    return { location: location.href, key };
  }

  /**
   * Gives a login that an operator began to the browser that ends it, once.
   *
   * @param browser what it gets as cookie
   * @returns the page of the authorization server; `undefined` for a login that is over
   */
  async open(key: string, browser: string): Promise<string | undefined> {
    const pending = (await this.#vault.get(key))?.value;
    if (pending) await this.#vault.put(key, { ...pending, browser: digestOf(browser) });
    return pending?.location;
  }

  /**
   * Ends the login that a redirect belongs to.
   *
   * @param login in the path of the redirect
   * @param query of the redirect
   * @param browser what its cookie holds
   * @throws {GatewayError} `forbidden` for one that is not known, of another browser, or that ends at another address
   */
  async end(
    login: string,
    query: URLSearchParams,
    browser: string | undefined,
  ): Promise<{ readonly consent: PendingLogin; readonly outcome: ConsentOutcome }> {
    const states = query.getAll("state");
    const key = digestOf(states[0] ?? "");
    const consent = states.length === 1 ? await this.#vault.take(key) : undefined;
    this.#running.get(key)?.();
    // A code that arrives at another's address came from another authorization server (RFC 9700 section 4.4.2).
    const isOwn = consent?.redirect.endsWith(`/callback/${login}`) === true;
    if (!consent || !isOwn || !isBrowser(consent, browser)) throw this.#refusal(consent, isOwn);
    return { consent, outcome: await this.#redeem(consent, query, states[0]!) };
  }

  #refusal(consent: PendingLogin | undefined, isOwn: boolean): GatewayError {
    const mismatch =
      consent === undefined
        ? new Mismatch("a state that is waited for", "another, or one that was used or is too old")
        : isOwn
          ? new Mismatch("the cookie of the browser that began", "another, or none")
          : new Mismatch(`the address ${consent.redirect}`, "that of another login");
    const refusal = new GatewayError("forbidden", "This login is not known, or was ended before.", {
      hint: "Begin it again where you began it.",
      cause: mismatch,
    });
    this.#failed.tell(consent?.server ?? "", "redirect", refusal);
    return refusal;
  }

  async #redeem(
    consent: PendingLogin,
    query: URLSearchParams,
    state: string,
  ): Promise<ConsentOutcome> {
    const found = this.#find(consent.server, consent.ref);
    if (!found) return { isDone: false, reason: "The server was removed from the gateway." };
    const { server, account } = found;
    const { request, verifier, redirect } = consent;
    try {
      const tokens = await server.finish(request, { query, state, verifier, redirect });
      await account.keep(tokens);
      return { isDone: true };
    } catch (error) {
      if (error instanceof GrantRefused && error.isClient)
        await server.forgetClient(request.issuer);
      const known =
        error instanceof GatewayError ? error : providerFault(refusedCode(error), error);
      return { isDone: false, reason: known.message };
    }
  }

  /** A client that begins logins without end must not fill the store. */
  #checkShare(ref: string): void {
    if (this.#shares.of(ref) < MAX_OWN && this.#running.size < MAX_ALL) return;
    throw new GatewayError("rate_limited", "Too many logins are under way.", {
      hint: "End those that you began, or wait ten minutes.",
    });
  }

  #reserve(ref: string, key: string): void {
    this.#checkShare(ref);
    this.#shares.add(ref);
    const release = (): void => {
      clearTimeout(timer);
      if (this.#running.delete(key)) this.#shares.remove(ref);
    };
    const timer = setTimeout(release, PENDING_MS).unref();
    this.#running.set(key, release);
  }
}

function refusedCode(error: unknown): string {
  return error instanceof GrantRefused
    ? `it refused the code with ${error.reason}`
    : "it refused the code";
}

/** Somebody who was sent the redirect of another's login must not end it in his place. */
function isBrowser({ browser }: PendingLogin, sent: string | undefined): boolean {
  if (browser === undefined || sent === undefined) return false;
  return timingSafeEqual(Buffer.from(browser), Buffer.from(digestOf(sent)));
}
