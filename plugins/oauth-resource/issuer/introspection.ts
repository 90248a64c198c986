import { GatewayError } from "propylon";
import type { FetchedValue } from "propylon/internal";
import { CLOCK_TOLERANCE_S } from "propylon/plugins/keys";
import { readClaims, type CheckedToken, type IssuerCheck } from "./claims.ts";
import type { IssuerDocument, IssuerDocuments, IssuerForm } from "./documents.ts";
import type { IntrospectionOptions } from "../options.ts";
import {
  expiredToken,
  invalidToken,
  issuerFault,
  TokenRefusal,
  uncheckedToken,
} from "../refusal.ts";

/** Most questions at a time: a client with made-up tokens must not make the gateway ask without end. */
const MAX_RUNNING = 64;
/** How long a token lasts whose issuer does not say so: a stream must end some day. */
const UNKNOWN_LIFE_S = 3_600;

/** What the check of an issuer is made of. */
export interface IntrospectionParts {
  /** What the config calls the issuer. */
  readonly name: string;
  readonly issuer: string;
  readonly options: IntrospectionOptions;
  readonly documents: IssuerDocuments;
  /** Where to ask by the issuer's metadata; used where the options do not say. */
  readonly endpoint: FetchedValue<URL>;
}

/** Asks an issuer about tokens (RFC 7662). */
export class IntrospectedTokens implements IssuerCheck {
  readonly isSigned = false;
  readonly #parts: IntrospectionParts;
  #running = 0;

  constructor(parts: IntrospectionParts) {
    this.#parts = parts;
  }

  async check(token: string): Promise<CheckedToken> {
    if (this.#running >= MAX_RUNNING) throw busy();
    this.#running++;
    try {
      return this.#read(await this.#ask(token));
    } finally {
      this.#running--;
    }
  }

  async warm(): Promise<void> {
    const { options, endpoint } = this.#parts;
    if (options.url === undefined) await endpoint.get().catch(() => {});
  }

  async #ask(token: string): Promise<IssuerDocument> {
    const { name, options } = this.#parts;
    try {
      const answer = await this.#post({
        authorization: basicOf(options),
        fields: { token, token_type_hint: "access_token" },
      });
      // 401 is about the gateway's own secret, and no answer about the token.
      if (answer.status === 200 && typeof answer.body["active"] === "boolean") return answer;
      throw issuerFault(`a question about a token was answered with HTTP ${answer.status}`);
    } catch (error) {
      throw uncheckedToken(name, error);
    }
  }

  async #post(form: IssuerForm): Promise<IssuerDocument> {
    const { issuer, options, documents, endpoint } = this.#parts;
    if (options.url !== undefined) return documents.post(new URL(options.url), form);
    return documents.post(await endpoint.get(), form, new URL(issuer));
  }

  #read({ body, cacheControl }: IssuerDocument): CheckedToken {
    if (body["active"] !== true)
      throw new TokenRefusal("inactive", "The token is not valid any more.");
    if (body["iss"] !== undefined && body["iss"] !== this.#parts.issuer) throw invalidToken();
    const now = Math.floor(Date.now() / 1_000);
    const claims = readClaims({ exp: now + UNKNOWN_LIFE_S, ...body });
    if (claims.expiresAt <= Date.now()) throw expiredToken();
    if (typeof body["nbf"] === "number" && body["nbf"] > now + CLOCK_TOLERANCE_S)
      throw invalidToken();
    const believed = Math.min(this.#parts.options.ttl, lifeOf(cacheControl));
    return { claims, until: Math.min(claims.expiresAt, Date.now() + believed) };
  }
}

/** How long an answer may be kept, in milliseconds (RFC 9111 section 5.2.2). */
function lifeOf(cacheControl: string): number {
  if (/\bno-(?:store|cache)\b/i.test(cacheControl)) return 0;
  const [, seconds] = /\bmax-age="?(\d{1,9})/i.exec(cacheControl) ?? [];
  return seconds === undefined ? Infinity : Number(seconds) * 1_000;
}

/** RFC 6749 section 2.3.1: both parts are form-encoded first. */
function basicOf({ clientId, clientSecret }: IntrospectionOptions): string {
  const encode = (text: string): string => encodeURIComponent(text).replaceAll("%20", "+");
  const pair = `${encode(clientId)}:${encode(clientSecret)}`;
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}

function busy(): GatewayError {
  return new GatewayError("unavailable", "Too many tokens are being checked.", {
    hint: "Try again in a second.",
    headers: { "retry-after": "1" },
  });
}
