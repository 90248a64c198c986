import type { RouteEvent } from "propylon";
import type { LogFacts } from "propylon/internal";
import { errorPage, toOauthError, type OnRefusal } from "./endpoint.ts";
import type { OauthClient } from "../clients/clients.ts";
import { OauthError } from "../oauth-error.ts";
import { readForm, readParameters, required, type Parameters } from "../tokens/form.ts";
import { isOwnAnswer, type Login } from "../people/login.ts";
import { consentPage } from "./page.ts";
import { grantScopes, type LoggedIn } from "../people/person.ts";
import type { ProviderClaims } from "../people/provider.ts";
import { isOwnerless, matchesRedirect, redirectTo } from "../redirects.ts";
import type { ServerParts } from "./parts.ts";

/** RFC 7636 section 4.2: base64url of 32 bytes. */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
/** RFC 6749 appendix A.5; what is longer does not fit into a cookie. */
const STATE = /^[\x20-\x7e]{1,2048}$/;
const MAX_SCOPES = 50;

/** A login as far as it is known, and whether the person saw where it ends. */
interface Told extends Pick<Login, "client" | "redirect"> {
  readonly state?: string | undefined;
  readonly id?: string;
  readonly isDecided?: boolean;
}

/** The authorization endpoint and what follows it: a person comes, logs in at the provider, allows the program, and goes back. */
export class Authorization {
  readonly #parts: ServerParts;
  readonly #onRefusal: OnRefusal;

  constructor(parts: ServerParts, onRefusal: OnRefusal) {
    this.#parts = parts;
    this.#onRefusal = onRefusal;
  }

  /** Sends a person to the provider (RFC 6749 section 4.1.1). */
  async begin(event: RouteEvent): Promise<Response> {
    const parameters = readParameters(event.url.searchParams);
    const redirect = required(parameters, "redirect_uri");
    const client = await this.#parts.clients.find(
      required(parameters, "client_id"),
      this.#parts.addressOf(event),
    );
    // Nobody is sent to an address that the program did not name, not even with an error.
    if (!matchesRedirect(redirect, client.redirects))
      throw wrongRedirect({ expected: client.redirects, got: redirect });
    const state = parameters.get("state");
    return this.#orTell({ client: client.id, redirect, state }, async () => {
      const login = this.#parts.logins.create({
        client: client.id,
        redirect,
        ...(state !== undefined && { state: checkState(state) }),
        challenge: challengeOf(parameters),
        scopes: (parameters.get("scope") ?? "").split(" ").slice(0, MAX_SCOPES),
        resource: this.#parts.targets.resolve(parameters),
        asks: (parameters.get("prompt") ?? "").split(" ").includes("consent"),
      });
      const cookies = this.#parts.logins.keep(event, login);
      const target = await this.#parts.provider.loginUrl({ ...login, state: login.id });
      return redirectResponse(302, target, cookies);
    });
  }

  /** Takes a person back from the provider. */
  async return(event: RouteEvent): Promise<Response> {
    const { logins, provider, rules, clients, consents } = this.#parts;
    const login = logins.find(event, readParameters(event.url.searchParams).get("state") ?? "");
    return this.#orTell(login, async () => {
      const answer = new URL(`${this.#parts.issuer()}/${event.url.search}`);
      const claims = await provider.finish(answer, { ...login, state: login.id });
      const person = rules.identify(claims);
      const scopes = this.#scopesFor(person, login, claims);
      const client = await clients.find(login.client, this.#parts.addressOf(event));
      const { redirect, resource } = login;
      const question = { person, client, redirect, resource, scopes };
      if (!login.asks && (await consents.isGiven(question))) {
        await consents.give(question);
        return this.#finish(login, client, person, scopes);
      }
      const identified = logins.identified(login, person);
      const page = consentPage({
        client,
        login: identified,
        person: person.name,
        action: `${this.#parts.issuer()}/oauth/consent`,
        scopes: scopes.map((scope) => [scope, this.#parts.resource.scopes.get(scope)!]),
      });
      return withCookies(page, logins.keep(event, identified));
    });
  }

  /** Takes what a person answered on the page of consent. */
  async answer(event: RouteEvent): Promise<Response> {
    const { logins, clients, consents } = this.#parts;
    const form = await readForm(event);
    const login = logins.find(event, form.get("login") ?? "");
    const { person } = login;
    // A form of another page, or of a page that the person did not see (RFC 9700 section 4.7).
    if (!person || !isOwnAnswer(login, form.get("answer") ?? ""))
      throw new OauthError(
        "invalid_request",
        "This answer does not belong to the login. Begin again in your program.",
      );
    const decided = { ...login, isDecided: !isOwnerless(login.redirect) };
    return this.#orTell(decided, async () => {
      if (form.get("choice") !== "allow")
        throw new OauthError("access_denied", "The person did not allow it.");
      const scopes = this.#scopesFor(person, login);
      const client = await clients.find(login.client, this.#parts.addressOf(event));
      const { redirect, resource } = login;
      await consents.give({ person, client, redirect, resource, scopes });
      return this.#finish(login, client, person, scopes);
    });
  }

  async #finish(
    login: Login,
    client: OauthClient,
    person: LoggedIn,
    scopes: readonly string[],
  ): Promise<Response> {
    const { codes, grants, logins } = this.#parts;
    const code = await codes.make({
      client: login.client,
      clientName: client.name,
      ...(client.isKeyed && { isKeyed: true }),
      redirect: login.redirect,
      challenge: login.challenge,
      scopes: [...scopes],
      resource: login.resource,
      person,
      grant: grants.nextId(person),
    });
    const target = redirectTo(login.redirect, {
      code,
      state: login.state,
      iss: this.#parts.issuer(),
    });
    return redirectResponse(303, target, [logins.drop(login)]);
  }

  /** @throws {OauthError} `access_denied` for somebody who may not come in, or may nothing of what was asked for */
  #scopesFor(person: LoggedIn, { scopes }: Login, claims?: ProviderClaims): readonly string[] {
    const { rules, resource } = this.#parts;
    const roles = rules.rolesOf(person);
    const granted = roles.size === 0 ? undefined : grantScopes(scopes, resource.scopes, roles);
    if (granted) return granted;
    const leftOut = claims && rules.leftOut(claims);
    throw new OauthError(
      "access_denied",
      leftOut === undefined
        ? "The person may not use this gateway, or not with these rights."
        : `The login provider left out ${leftOut}, because the person is in too many of them.`,
      { status: 403, facts: claims ? rules.explain(claims) : {} },
    );
  }

  /**
   * Tells what goes wrong at the address of the program (RFC 6749 section 4.1.2.1, RFC 9207) where the operator vouches for it, or the
   * person saw it and decided. Anybody can register an address: an error that leads there on its own lends the gateway's good name to
   * it (RFC 9700 section 4.11.2), so the person sees a page in its place.
   */
  async #orTell(login: Told, work: () => Promise<Response>): Promise<Response> {
    try {
      return await work();
    } catch (thrown) {
      const error = toOauthError(thrown);
      this.#onRefusal(error);
      const cookies = login.id === undefined ? [] : [this.#parts.logins.drop({ id: login.id })];
      if (!login.isDecided && !this.#parts.clients.isConfigured(login.client))
        return withCookies(errorPage(error), cookies);
      const target = redirectTo(login.redirect, {
        error: error.code,
        error_description: error.message,
        state: login.state,
        iss: this.#parts.issuer(),
      });
      return redirectResponse(303, target, cookies);
    }
  }
}

/** PKCE with S256 is the only way (OAuth 2.1 section 4.1.1): a program that could leave it out could be made to. */
function challengeOf(parameters: Parameters): string {
  if (parameters.get("response_type") !== "code")
    throw new OauthError("unsupported_response_type", "The response_type must be code.");
  if ((parameters.get("response_mode") ?? "query") !== "query")
    throw new OauthError("invalid_request", "The response_mode must be query.");
  const challenge = parameters.get("code_challenge") ?? "";
  if (parameters.get("code_challenge_method") === "S256" && CHALLENGE.test(challenge))
    return challenge;
  throw new OauthError(
    "invalid_request",
    "A code_challenge with the method S256 is needed (PKCE).",
  );
}

function checkState(state: string): string {
  if (STATE.test(state)) return state;
  throw new OauthError(
    "invalid_request",
    "The state has characters that it must not have, or is too long.",
  );
}

function wrongRedirect(facts: LogFacts): OauthError {
  return new OauthError(
    "invalid_request",
    "The redirect_uri is not registered for the program, so nobody is sent there.",
    { facts },
  );
}

function redirectResponse(status: 302 | 303, target: string, cookies: readonly string[]): Response {
  const headers = {
    location: target,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
  };
  return withCookies(new Response(null, { status, headers }), cookies);
}

function withCookies(response: Response, cookies: readonly string[]): Response {
  for (const cookie of cookies) response.headers.append("set-cookie", cookie);
  return response;
}
