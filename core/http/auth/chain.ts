import type { Authenticator, Credentials } from "./authentication.ts";
import { GatewayError, isGatewayError } from "../../errors.ts";
import type { Access } from "../route.ts";
import type { Identity, Principal } from "../../call/types.ts";
import { makePrincipal, originOf } from "./principal.ts";
import { admits } from "./roles.ts";

/** Decides who makes a request and what they may, for a whole listener. */
export interface Authentication {
  /**
   * Returns who it is, or `undefined` for a request without credentials.
   * @throws {GatewayError} `unauthorized` for credentials that are wrong
   */
  authenticate(credentials: Credentials): Known;
  /** `WWW-Authenticate` value for a 401 on this path. */
  challenge(path: string): string;
  /** Whether a principal satisfies a route's policy. */
  admits(principal: Principal, access: Access): boolean;
}

type Known = Principal | undefined | Promise<Principal | undefined>;

/** What is said to credentials that nobody claims; it tells nothing of who was asked. */
export type Refusal = (credentials: Credentials) => string;

/**
 * Authenticators, asked in their order until one knows the credentials. One that cannot decide, and one that says that they are
 * its own and wrong, is the last that is asked: the next might take them for something else.
 */
export class AuthenticatorChain implements Authentication {
  readonly links: readonly Authenticator[];
  readonly #byName: ReadonlyMap<string, Authenticator>;
  readonly #refusal: Refusal;

  constructor(links: readonly Authenticator[], refusal: Refusal) {
    this.links = links;
    this.#byName = new Map(links.map((link) => [link.name, link]));
    this.#refusal = refusal;
  }

  authenticate(credentials: Credentials): Known {
    return this.#ask(credentials, 0);
  }

  /** A plugin's challenge comes first: clients that log in somewhere read it, those with a key need none. */
  challenge(path: string): string {
    return this.links.find(({ challenge }) => challenge)?.challenge?.(path) ?? DEFAULT_CHALLENGE;
  }

  admits(principal: Principal, access: Access): boolean {
    const link = this.#byName.get(originOf(principal) ?? "");
    if (link?.plugin === undefined) return admits(principal, access);
    if (access === "caller" && principal.roles.size === 0) return true;
    return link.admits ? link.admits(principal, access) : admits(principal, access);
  }

  /** Makes no promise where none is needed: most credentials are known at once. */
  #ask(credentials: Credentials, from: number): Known {
    for (let at = from; at < this.links.length; at++) {
      const link = this.links[at]!;
      const answer = askOne(link, credentials);
      if (answer instanceof Promise)
        return answer.then((identity) =>
          identity ? makePrincipal(identity, link.name) : this.#ask(credentials, at + 1),
        );
      if (answer) return makePrincipal(answer, link.name);
    }
    if (credentials.headers["authorization"] === undefined) return undefined;
    throw new GatewayError("unauthorized", this.#refusal(credentials));
  }
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

/** Whoever refuses says how to authenticate with it. */
function withChallenge(
  error: unknown,
  { challenge }: Authenticator,
  { path }: Credentials,
): unknown {
  if (!challenge || !isRefusal(error)) return error;
  const headers = { "www-authenticate": challenge(path), ...error.headers };
  return new GatewayError("unauthorized", error.message, { headers, cause: error });
}

/** Whether somebody's credentials were refused, in contrast to a check that could not be made. */
export function isRefusal(error: unknown): error is GatewayError {
  return isGatewayError(error) && error.code === "unauthorized";
}
