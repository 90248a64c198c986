import { randomBytes, timingSafeEqual } from "node:crypto";
import type { RouteEvent } from "propylon";
import { Fernet, FIRST_PROBLEM } from "propylon/kit";
import { z } from "zod";
import { OauthError } from "../oauth-error.ts";
import { personSchema } from "./person.ts";

/** How long a person may take. */
const LIFE_MS = 600_000;
/** A browser drops a cookie above 4,096 bytes (RFC 6265 section 6.1). */
const MAX_COOKIE = 3_800;
/** Logins that one browser may be in the middle of; older ones are dropped, as headers have a limit. */
const MAX_AT_ONCE = 3;
const NAME = "propylon_login_";

const loginSchema = z.object({
  /** Id: `state` at the provider, and part of the cookie's name. */
  id: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  /** What the program asked for. */
  client: z.string(),
  redirect: z.string(),
  state: z.string().optional(),
  challenge: z.string(),
  scopes: z.array(z.string()).max(1_000),
  resource: z.string(),
  /** Whether the page of consent was asked for. */
  asks: z.boolean(),
  /** Who logged in, and what the page of consent sends back. */
  person: personSchema.optional(),
  answer: z.string().optional(),
});

/** A login that a person is in the middle of. */
export type Login = z.infer<typeof loginSchema>;

/**
 * Logins that people are in the middle of. The browser keeps them, sealed: a client that opens a thousand logins fills no store of
 * the gateway, a restart loses none, and nobody else's browser can go on with one (RFC 9700 section 4.7).
 */
export class Logins {
  readonly #seal: () => Fernet;
  readonly #isSecure: () => boolean;

  /** @param secret 32 bytes @param isSecure whether people come over https */
  constructor(secret: () => Buffer, isSecure: () => boolean) {
    this.#seal = () => new Fernet([secret().toString("base64url")]);
    this.#isSecure = isSecure;
  }

  /** A login with what it is bound to. */
  create(asked: Omit<Login, "id" | "nonce" | "verifier" | "person" | "answer">): Login {
    return { ...asked, id: random(16), nonce: random(16), verifier: random(32) };
  }

  /** The same with who logged in, for the page of consent. */
  identified(login: Login, person: NonNullable<Login["person"]>): Login {
    return { ...login, person, answer: random(16) };
  }

  /**
   * The header that keeps a login in the browser, and those that drop older ones.
   *
   * @throws {OauthError} `invalid_request` for one that no browser would keep
   */
  keep(event: RouteEvent, login: Login): readonly string[] {
    const sealed = this.#seal().seal(JSON.stringify(login));
    if (sealed.length > MAX_COOKIE)
      throw new OauthError("invalid_request", "The request is too long: shorten its state.");
    const others = this.#cookies(event).filter(([name]) => name !== this.#nameOf(login.id));
    const surplus = others.slice(0, Math.max(0, others.length - MAX_AT_ONCE + 1));
    return [
      this.#cookie(this.#nameOf(login.id), sealed, LIFE_MS / 1_000),
      ...surplus.map(([name]) => this.#cookie(name, "", 0)),
    ];
  }

  /** The header that drops it. */
  drop({ id }: Pick<Login, "id">): string {
    return this.#cookie(this.#nameOf(id), "", 0);
  }

  /** @throws {OauthError} `invalid_request` where this browser is not in the middle of that login */
  find(event: RouteEvent, id: string): Login {
    const sealed = this.#cookies(event).find(([name]) => name === this.#nameOf(id))?.[1];
    const login = sealed === undefined ? undefined : this.#open(sealed);
    if (login?.id === id) return login;
    throw new OauthError(
      "invalid_request",
      "This login took too long, or was begun in another browser. Begin again in your program.",
    );
  }

  #open(sealed: string): Login | undefined {
    try {
      return loginSchema.parse(
        JSON.parse(this.#seal().open(sealed, { ttl: LIFE_MS })),
        FIRST_PROBLEM,
      );
    } catch {
      return undefined;
    }
  }

  #cookies({ req }: RouteEvent): readonly (readonly [name: string, value: string])[] {
    const prefix = this.#nameOf("");
    return (req.headers.get("cookie") ?? "").split(/; */).flatMap((text) => {
      const at = text.indexOf("=");
      return text.startsWith(prefix) ? [[text.slice(0, at), text.slice(at + 1)] as const] : [];
    });
  }

  /** Another host of the domain cannot set a cookie of this name (RFC 6265bis section 4.1.3). */
  #nameOf(id: string): string {
    return `${this.#isSecure() ? "__Host-" : ""}${NAME}${id}`;
  }

  #cookie(name: string, value: string, maxAge: number): string {
    const secure = this.#isSecure() ? "; Secure" : "";
    return `${name}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure}`;
  }
}

/** Whether a form was sent by the page of consent of this login. */
export function isOwnAnswer({ answer }: Login, given: string): boolean {
  const [own, sent] = [Buffer.from(answer ?? ""), Buffer.from(given)];
  return own.length > 0 && own.length === sent.length && timingSafeEqual(own, sent);
}

function random(bytes: number): string {
  return randomBytes(bytes).toString("base64url");
}
