import {
  isRefusal,
  type Authentication,
  type Authenticator,
  type Credentials,
  type Known,
} from "./authentication.ts";
import { GatewayError } from "../../errors.ts";
import type { Access } from "../route.ts";
import type { Identity, Principal } from "../../call/types.ts";
import { makePrincipal, originOf } from "./principal.ts";
import { admits } from "../guard.ts";

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
    throw new GatewayError("unauthorized", this.#refuse(credentials));
  }

  #refuse(credentials: Credentials): string {
    for (const { refusal } of this.links) {
      const words = refusal?.(credentials);
      if (words !== undefined) return words;
    }
    return this.#refusal(credentials);
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
