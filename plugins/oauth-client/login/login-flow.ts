import { randomBytes } from "node:crypto";
import { GatewayError, type Principal } from "propylon";
import { createPrincipal, digestOf } from "propylon/kit";
import { readRef } from "propylon/internal";
import type { LoginAccounts, FoundAccount } from "./accounts.ts";
import type { Asking, Ticket } from "./asking.ts";
import { type PendingLogins, type ConsentOutcome } from "./pending-logins.ts";
import type { LoginStep } from "../metrics.ts";
import type { Vault } from "../provider/vault.ts";

/** What all replicas of a store are told when a login ended. */
export interface LoginNews {
  readonly id: string;
  readonly server: string;
  readonly ref?: string | undefined;
  readonly outcome: ConsentOutcome;
}

/** What {@link LoginFlow} works with. */
export interface LoginFlowParts {
  readonly accounts: LoginAccounts;
  readonly consents: PendingLogins;
  readonly tickets: Vault<Ticket>;
  readonly outcomes: Vault<ConsentOutcome>;
  readonly asking: Asking;
  /** Address of the page for a ticket. */
  readonly urlOf: (ticket: string) => string;
  readonly identify: "credentials" | "confirm";
  readonly count: (step: LoginStep) => void;
  /** Tells all replicas of the store. */
  readonly publish: (news: LoginNews) => Promise<void>;
  /** Connects again with what an account has now. */
  readonly renew: (server: string, principal: Principal | undefined) => void;
}

/** A login that an operator began for the gateway. */
export interface OperatorLogin {
  readonly id: string;
  /** Page of the gateway that begins it in a browser, once. */
  readonly location: string;
}

/** What the page of a link asks. */
export interface LinkView {
  readonly server: string;
  /** Whose account it is; `undefined`: the gateway's. */
  readonly ref: string | undefined;
  /** Whether the visitor has to show who it is. */
  readonly asks: boolean;
}

/** How an account stands. */
export interface AccountView {
  readonly server: string;
  readonly per: "gateway" | "principal";
  readonly connected: boolean;
  readonly scopes: readonly string[];
  readonly issuer?: string;
  /** ISO 8601. */
  readonly expiresAt?: string;
}

/** Begins and ends logins: of people on a page, of operators for the gateway. */
export class LoginFlow {
  readonly #parts: LoginFlowParts;

  constructor(parts: LoginFlowParts) {
    this.#parts = parts;
  }

  /** Whom a link is for, and whether this visitor has to show who it is. @throws {GatewayError} `not_found` */
  async visit(ticket: string, visitor: Principal): Promise<LinkView> {
    const found = await this.#ticket(ticket);
    const { server } = found;
    if ("pending" in found) return { server, ref: undefined, asks: false };
    return { server, ref: found.ref, asks: !this.#isTrusted(found.ref, visitor) };
  }

  /**
   * Begins the login of a link.
   *
   * @returns the page of the authorization server, and what the browser has to bring back
   * @throws {GatewayError} `not_found`, `forbidden` for another principal; as {@link PendingLogins.begin}
   */
  async start(
    ticket: string,
    visitor: Principal,
  ): Promise<{ readonly location: string; readonly browser: string }> {
    const found = await this.#ticket(ticket);
    const browser = randomBytes(24).toString("base64url");
    if ("pending" in found) {
      // Of all browsers that open the link, one goes on.
      const isFirst = (await this.#parts.tickets.take(digestOf(ticket))) !== undefined;
      const location = isFirst && (await this.#parts.consents.open(found.pending, browser));
      if (!location) throw noLink();
      return { location, browser };
    }
    if (!this.#isTrusted(found.ref, visitor))
      throw new GatewayError("forbidden", `This login is for ${found.ref}.`, {
        hint: "Enter the key that you use for this gateway, or begin a login of your own.",
      });
    const { server, account } = this.#find(found.server, found.ref);
    const { id, ref } = found;
    const { location } = await this.#parts.consents.begin({ id, server, account, ref, browser });
    this.#parts.count("started");
    return { location, browser };
  }

  /**
   * Begins a login for the gateway's own account. Its link opens it in one browser, and no other can end it (RFC 9700 section 2.1).
   *
   * @throws {GatewayError} as {@link start}
   */
  async startForGateway(name: string): Promise<OperatorLogin> {
    const { server, account } = this.#find(name, undefined);
    if (server.isMachine)
      throw new GatewayError("invalid", `The gateway logs in at "${name}" on its own.`);
    const id = randomBytes(12).toString("base64url");
    const wish = { id, server, account, ref: undefined, browser: undefined };
    const { key } = await this.#parts.consents.begin(wish);
    const ticket = randomBytes(24).toString("base64url");
    await this.#parts.tickets.put(digestOf(ticket), { server: name, pending: key });
    this.#parts.count("started");
    return { id, location: this.#parts.urlOf(ticket) };
  }

  /** Ends a login. @throws {GatewayError} as {@link PendingLogins.end} */
  async end(
    login: string,
    query: URLSearchParams,
    browser: string | undefined,
  ): Promise<LoginNews> {
    const { consents, count, outcomes, publish, renew } = this.#parts;
    const { consent, outcome } = await consents
      .end(login, query, browser)
      .catch((error: unknown) => {
        count("refused");
        throw error;
      });
    const { id, server, ref } = consent;
    count(outcome.isDone ? "done" : "failed");
    await outcomes.put(id, outcome);
    const news = { id, server, ...(ref !== undefined && { ref }), outcome };
    if (outcome.isDone) renew(server, ref === undefined ? undefined : principalOf(ref));
    await publish(news);
    return news;
  }

  /** A replica of the store ended a login. @param isOwn this one did */
  heard({ id, server, ref, outcome }: LoginNews, isOwn: boolean): void {
    if (!isOwn) this.#parts.accounts.find(server, ref)?.account.forget();
    this.#parts.asking.ended(id, outcome);
  }

  /** How a login of {@link startForGateway} ended; `undefined`: it is under way, or not known. */
  async outcome(id: string): Promise<ConsentOutcome | undefined> {
    return (await this.#parts.outcomes.get(id))?.value;
  }

  /** Logs an account out. @returns whether it was logged in. @throws {GatewayError} `not_found` */
  async logOut(name: string, principal: Principal | undefined): Promise<boolean> {
    const { account } = this.#find(name, principal?.ref);
    const was = await account.logOut();
    if (was) this.#parts.renew(name, principal);
    const outcome = { isDone: true };
    if (was) await this.#parts.publish({ id: "", server: name, ref: principal?.ref, outcome });
    return was;
  }

  /** The accounts of a principal, or with `undefined` those of the gateway. */
  async view(principal: Principal | undefined): Promise<readonly AccountView[]> {
    const { servers } = this.#parts.accounts;
    const own = principal ? servers.filter(({ isPersonal }) => isPersonal) : servers;
    return Promise.all(own.map(({ name }) => this.#viewOf(name, principal?.ref)));
  }

  async #viewOf(name: string, ref: string | undefined): Promise<AccountView> {
    const { server, account } = this.#find(name, ref);
    const tokens = await account.tokens();
    const { scopes = [], issuer, expiresAt } = tokens ?? {};
    return {
      server: name,
      per: server.auth.per,
      connected: tokens !== undefined,
      scopes,
      ...(issuer !== undefined && { issuer }),
      ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
    };
  }

  #find(name: string, ref: string | undefined): FoundAccount {
    const found = this.#parts.accounts.find(name, ref);
    if (found) return found;
    throw new GatewayError("not_found", `No server "${name}" wants a login.`, {
      hint: `Set servers.${name}.auth: oauth.`,
    });
  }

  async #ticket(ticket: string): Promise<Ticket> {
    const found = await this.#parts.tickets.get(digestOf(ticket));
    if (found) return found.value;
    throw noLink();
  }

  /** Otherwise somebody who is sent another's link would give away an account (MCP, elicitation, "Phishing"). */
  #isTrusted(ref: string, visitor: Principal): boolean {
    if (visitor.ref === ref) return true;
    const isNobody = visitor.kind === "anonymous";
    return isNobody && this.#parts.identify === "confirm";
  }
}

function noLink(): GatewayError {
  return new GatewayError("not_found", "This link is not known, was used, or is too old.", {
    hint: "Ask for a new one where you got it.",
  });
}

/** Somebody known by a ref alone. */
function principalOf(ref: string): Principal {
  return createPrincipal({ ...readRef(ref), roles: new Set() });
}
