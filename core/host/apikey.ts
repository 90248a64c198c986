import { createHash, timingSafeEqual } from "node:crypto";
import type { Authenticator } from "../auth.ts";
import { GatewayError } from "../errors.ts";
import type { Access } from "../plugin.ts";
import type { Principal, Role } from "../types.ts";

const ALL_ROLES: ReadonlySet<Role> = new Set(["viewer", "caller", "operator", "admin", "service"]);
const BEARER = /^Bearer +(\S+) *$/i;

/** Everyone, when no authentication is configured (M069: open without a key). */
const ANONYMOUS: Principal = { id: "anonymous", kind: "anonymous", roles: ALL_ROLES };
const KEY_HOLDER: Principal = { id: "api-key", kind: "key", roles: ALL_ROLES };

/** Lets everyone in with all rights: the default on loopback, where nothing else is configured. */
export function openAuthenticator(): Authenticator {
  return { authenticate: () => ANONYMOUS, challenge: () => "Bearer", admits };
}

/** Lets in who sends the key as a bearer token, with all rights (`auth.apiKey`, M069). */
export function apiKeyAuthenticator(apiKey: string): Authenticator {
  const expected = digest(apiKey);
  return {
    authenticate({ headers }) {
      const { authorization } = headers;
      if (authorization === undefined) return undefined;
      const token = typeof authorization === "string" ? BEARER.exec(authorization)?.[1] : undefined;
      // Digests have one length, so the comparison tells nothing about that of the key.
      if (token !== undefined && timingSafeEqual(digest(token), expected)) return KEY_HOLDER;
      throw new GatewayError("unauthorized", "The API key is wrong.");
    },
    challenge: () => 'Bearer realm="propylon"',
    admits,
  };
}

/** The policy of a route in terms of roles: `admin` may do what a `service` may. */
export function admits({ roles }: Principal, access: Access): boolean {
  if (access === "public" || access === "principal") return true;
  return roles.has("admin") || (access === "service" && roles.has("service"));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
