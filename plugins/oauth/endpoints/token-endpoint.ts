import type { RouteEvent } from "propylon";
import { readBasic, readUnprovenClaims } from "propylon/internal";
import { ASSERTION_TYPE } from "../clients/client-assertions.ts";
import { checkKeyed, type ClientProof, type ProvenClient } from "../clients/clients.ts";
import { readForm, required, type Parameters } from "../tokens/form.ts";
import type { ContinuedGrant, KnownGrant } from "../tokens/grants.ts";
import { OauthError } from "../oauth-error.ts";
import type { ServerParts } from "./parts.ts";
import { grantScopes } from "../people/person.ts";

/** Told of every login that begins or goes on. */
export type OnToken = (
  kind: "authorization_code" | "refresh_token",
  grant: KnownGrant,
  event: RouteEvent,
) => void;

/** Makes access tokens of codes and refresh tokens (RFC 6749 sections 4.1.3 and 6), and takes tokens back (RFC 7009). */
export class TokenEndpoint {
  readonly #parts: ServerParts;
  readonly #onToken: OnToken;

  constructor(parts: ServerParts, onToken: OnToken) {
    this.#parts = parts;
    this.#onToken = onToken;
  }

  async token(event: RouteEvent): Promise<object> {
    const form = await readForm(event);
    const kind = required(form, "grant_type");
    if (kind !== "authorization_code" && kind !== "refresh_token")
      throw new OauthError(
        "unsupported_grant_type",
        "The grant_type must be authorization_code or refresh_token.",
      );
    const client = await this.#authenticate(event, form);
    const continued =
      kind === "authorization_code"
        ? await this.#redeem(client, form)
        : await this.#refresh(client, form);
    this.#onToken(kind, continued.grant, event);
    return this.#answer(continued, form);
  }

  /** RFC 7009 section 2.2: 200 also for an invalid token. */
  async revoke(event: RouteEvent): Promise<object> {
    const form = await readForm(event);
    const text = required(form, "token");
    const client = await this.#authenticate(event, form);
    const grant = await this.#grantOf(text);
    if (grant?.client !== client.id) return {};
    checkKeyed(client, grant);
    await this.#parts.grants.revoke(grant.id, "The program logged out.");
    return {};
  }

  #authenticate(event: RouteEvent, form: Parameters): Promise<ProvenClient> {
    const { clients, addressOf } = this.#parts;
    return clients.authenticate(proofOf(event, form), addressOf(event));
  }

  async #redeem(client: ProvenClient, form: Parameters): Promise<ContinuedGrant> {
    const { codes, grants, registrations, targets } = this.#parts;
    const asked = this.#resourceOf(form);
    const code = await codes.redeem(required(form, "code"), {
      client: client.id,
      redirect: form.get("redirect_uri"),
      verifier: required(form, "code_verifier"),
      isFor: (resource) => asked === undefined || targets.isSame(asked, resource),
    });
    checkKeyed(client, code);
    await registrations.touch(client.id);
    const { clientName, isKeyed, person, scopes, resource } = code;
    return grants.begin(code.grant, {
      client: client.id,
      clientName,
      ...(isKeyed && { isKeyed }),
      person,
      scopes,
      resource,
    });
  }

  async #refresh(client: ProvenClient, form: Parameters): Promise<ContinuedGrant> {
    const resource = this.#resourceOf(form);
    const continued = await this.#parts.grants.refresh(required(form, "refresh_token"), (grant) => {
      if (grant.client !== client.id)
        throw new OauthError("invalid_grant", "The refresh token is for another program.");
      checkKeyed(client, grant);
      if (resource !== undefined && !this.#parts.targets.isSame(resource, grant.resource))
        throw new OauthError("invalid_target", "The login is for another resource.");
      this.#rightsOf(grant, form);
    });
    await this.#parts.registrations.touch(client.id);
    return continued;
  }

  async #answer({ grant, refreshToken }: ContinuedGrant, form: Parameters): Promise<object> {
    const { scopes, roles } = this.#rightsOf(grant, form);
    const { text, expiresIn } = await this.#parts.access.sign(grant, scopes, roles);
    return {
      access_token: text,
      token_type: "Bearer",
      expires_in: expiresIn,
      refresh_token: refreshToken,
      ...(scopes.length > 0 && { scope: scopes.join(" ") }),
    };
  }

  /** By the rules of now: who lost a role since the login has it no more. */
  #rightsOf(
    { person, scopes }: KnownGrant,
    form: Parameters,
  ): {
    readonly scopes: readonly string[];
    readonly roles: ReturnType<ServerParts["rules"]["rolesOf"]>;
  } {
    const { rules, resource } = this.#parts;
    const roles = rules.rolesOf(person);
    const asked = form
      .get("scope")
      ?.split(" ")
      .filter((scope) => scopes.includes(scope));
    const granted =
      roles.size === 0 ? undefined : grantScopes(asked ?? scopes, resource.scopes, roles);
    if (granted) return { scopes: granted, roles };
    throw new OauthError(
      "invalid_grant",
      "The person may not use this gateway any more, or not with these rights.",
    );
  }

  async #grantOf(text: string): Promise<KnownGrant | undefined> {
    const { grants, access } = this.#parts;
    const found = await grants.find(text);
    if (found) return found;
    const token = await access.verify(text).catch(() => undefined);
    return token && grants.get(token.grant);
  }

  /** @throws {OauthError} `invalid_target` for anything but a resource of this gateway */
  #resourceOf(form: Parameters): string | undefined {
    return form.has("resource") ? this.#parts.targets.resolve(form) : undefined;
  }
}

/** RFC 6749 section 2.3.1; a program proves itself in one way. */
function proofOf({ req }: RouteEvent, form: Parameters): ClientProof {
  const authorization = req.headers.get("authorization");
  const [secret, assertion] = [form.get("client_secret"), form.get("client_assertion")];
  const proofs = [authorization ?? undefined, secret, assertion].filter(
    (each) => each !== undefined,
  );
  if (proofs.length > 1) throw notOneWay();
  if (authorization !== null) return basicProof(authorization, form);
  if (assertion === undefined) return { id: required(form, "client_id"), secret };
  if (form.get("client_assertion_type") !== ASSERTION_TYPE) throw notOneWay();
  return { id: form.get("client_id") ?? subjectOf(assertion), secret, assertion };
}

function basicProof(authorization: string, form: Parameters): ClientProof {
  const basic = readPair(authorization);
  const named = form.get("client_id");
  if (!basic || (named !== undefined && named !== basic.id)) throw notOneWay();
  return basic;
}

/** Unproven: whose key is to be looked for (RFC 7523 section 3). */
function subjectOf(assertion: string): string {
  const subject = readUnprovenClaims(assertion)?.["sub"];
  return typeof subject === "string" ? subject : "";
}

function notOneWay(): OauthError {
  return new OauthError("invalid_client", "The program must prove itself in one way.", {
    status: 401,
  });
}

/** RFC 6749 section 2.3.1: both are encoded as in a form. */
function readPair(authorization: string): ClientProof | undefined {
  const pair = readBasic(authorization);
  if (!pair || pair.name === "") return undefined;
  try {
    return { id: formDecoded(pair.name), secret: formDecoded(pair.password) };
  } catch {
    return undefined;
  }
}

function formDecoded(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}
