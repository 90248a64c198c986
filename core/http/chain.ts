import {
  isProven,
  isRefusal,
  type Authentication,
  type Authenticator,
  type Credentials,
  type Known,
} from "../plugin/authentication.ts";
import { GatewayError } from "../kit/errors.ts";
import type { Access } from "../plugin/route.ts";
import type { Identity, Principal } from "../kit/types.ts";
import type { PendingCheck, Guesses } from "./guesses.ts";
import { makePrincipal, originOf, takeStamp } from "../kit/principal.ts";
import type { TrustedProxies } from "./proxies.ts";
import { admits } from "./guard.ts";

/** What is said to credentials that nobody claims; it tells nothing of who was asked. */
export type Refusal = (credentials: Credentials) => string;

/** How guessing is slowed down. */
export interface Guessing {
  readonly guesses: Guesses;
  /** Wrong credentials per minute; 0 = any number. */
  readonly maxFailures: number;
}

/** What else an {@link AuthenticatorChain} needs. */
export interface ChainOptions {
  readonly guessing?: Guessing | undefined;
  /** Whose clients are told apart; default: a client has the address of its connection. */
  readonly proxies?: TrustedProxies | undefined;
}

/**
 * Authenticators, asked in their order until one knows the credentials. One that cannot decide, and one that says that they are
 * its own and wrong, is the last that is asked: the next might take them for something else.
 */
export class AuthenticatorChain implements Authentication {
  readonly links: readonly Authenticator[];
  readonly #byName: ReadonlyMap<string, Authenticator>;
  readonly #refusal: Refusal;
  readonly #guessing: Guessing | undefined;
  readonly #proxies: TrustedProxies | undefined;

  constructor(
    links: readonly Authenticator[],
    refusal: Refusal,
    { guessing, proxies }: ChainOptions = {},
  ) {
    this.links = links;
    this.#byName = new Map(links.map((link) => [link.name, link]));
    this.#refusal = refusal;
    this.#guessing = guessing;
    this.#proxies = proxies;
  }

  authenticate(sent: Credentials): Known {
    const credentials = this.#proxies?.see(sent) ?? sent;
    if (!this.#guessing) return this.#ask(credentials);
    const { guesses, maxFailures } = this.#guessing;
    const isSigned = (): boolean => this.links.some((link) => link.isSigned?.(credentials));
    const attempt = guesses.begin(credentials, maxFailures, isSigned);
    try {
      const known = this.#ask(credentials);
      if (!(known instanceof Promise)) return settle(attempt, known);
      return known.then(
        (principal) => settle(attempt, principal),
        (error: unknown) => fail(attempt, error),
      );
    } catch (error) {
      return fail(attempt, error);
    }
  }

  /** A plugin's challenge comes first: clients that log in somewhere read it, those with a key need none. */
  challenge(path: string, isRefused: boolean): string {
    for (const link of this.links) {
      const own = link.challenge?.(path, isRefused);
      if (own !== undefined) return own;
    }
    return DEFAULT_CHALLENGE;
  }

  stepUp(path: string, principal: Principal, access: Access): string | undefined {
    return this.#byName.get(originOf(principal) ?? "")?.stepUp?.(path, principal, access);
  }

  admits(principal: Principal, access: Access): boolean {
    const link = this.#byName.get(originOf(principal) ?? "");
    if (link?.plugin === undefined) return admits(principal, access);
    if (access === "caller" && principal.roles.size === 0) return true;
    return link.admits ? link.admits(principal, access) : admits(principal, access);
  }

  /**
   * Makes no promise where none is needed: most credentials are known at once.
   *
   * @param stamp from before anybody was asked: a credential that goes while it is looked at is gone
   */
  #ask(credentials: Credentials, from = 0, stamp = takeStamp()): Known {
    for (let at = from; at < this.links.length; at++) {
      const link = this.links[at]!;
      const answer = askOne(link, credentials);
      if (answer instanceof Promise)
        return answer.then((identity) =>
          identity
            ? makePrincipal(identity, link.name, stamp)
            : this.#ask(credentials, at + 1, stamp),
        );
      if (answer) return makePrincipal(answer, link.name, stamp);
    }
    if (credentials.headers["authorization"] === undefined) return undefined;
    throw new GatewayError("unauthorized", this.#refuse(credentials));
  }

  /** Those of the config come last: a plugin may know more of the form that was sent. */
  #refuse(credentials: Credentials): string {
    const own = this.links.filter(({ plugin }) => plugin === undefined);
    const others = this.links.filter(({ plugin }) => plugin !== undefined);
    for (const { refusal } of [...others, ...own]) {
      const words = refusal?.(credentials);
      if (words !== undefined) return words;
    }
    return this.#refusal(credentials);
  }
}

/** Who sends nothing has not guessed. */
function settle(attempt: PendingCheck, principal: Principal | undefined): Principal | undefined {
  if (principal) attempt.right();
  else attempt.unknown();
  return principal;
}

function fail(attempt: PendingCheck, error: unknown): never {
  if (isRefusal(error) && !isProven(error)) attempt.wrong();
  else attempt.unknown();
  throw error;
}

const DEFAULT_CHALLENGE = 'Bearer realm="propylon"';

function askOne(
  link: Authenticator,
  credentials: Credentials,
): Identity | undefined | Promise<Identity | undefined> {
  const refuse = (error: unknown): never => {
    throw withChallenge(error, link, credentials);
  };
  try {
    const answer = link.authenticate(credentials);
    return answer instanceof Promise ? answer.catch(refuse) : answer;
  } catch (error) {
    return refuse(error);
  }
}

/** The authenticator that refuses says how to authenticate with it. */
function withChallenge(
  error: unknown,
  { challenge }: Authenticator,
  { path }: Credentials,
): unknown {
  if (!isRefusal(error)) return error;
  const own = challenge?.(path, true);
  if (own === undefined) return error;
  const headers = { "www-authenticate": own, ...error.headers };
  return new GatewayError("unauthorized", error.message, { headers, cause: error });
}
