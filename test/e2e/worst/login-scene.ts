import { SignJWT } from "jose";
import { digestOf } from "propylon/kit";
import { Foe } from "./foe.ts";
import { ProbedGateway } from "./gateway.ts";
import type { Place } from "./input.ts";

const SECRET = "a key of the tests, long enough for it";
/** For every route. */
const ADMIN = "tests-admin-credential";
/** A program that the authorization server knows. */
export const PROGRAM = { id: "program", redirect: "http://127.0.0.1:33418/callback" };
/**
 * Issuers of each kind that are asked for something: what one answered is kept for a time, so that each input has one of its own.
 */
const ISSUERS = 220;

/** A gateway that people log in to, among hostile issuers. */
export interface LoginScene extends Place {
  readonly foe: Foe;
  /** What shows that an admin asks. */
  readonly admin: Readonly<Record<string, string>>;
  /** A token of the gateway's own secret. */
  sign(claims: object, header?: object): Promise<string>;
  /** A path of an issuer of a kind that was not asked yet, and its issuer. */
  nextIssuer(kind: "keys" | "metadata"): { readonly path: string; readonly url: string };
  close(): Promise<void>;
}

export async function openLoginScene(): Promise<LoginScene> {
  const foe = await Foe.start();
  const gateway = await ProbedGateway.start((port) => configOf(port, foe.url));
  const count = { keys: 0, metadata: 0 };
  return {
    gateway,
    foe,
    admin: { authorization: `Bearer ${ADMIN}` },
    sign: (claims, header = {}) =>
      new SignJWT({ sub: "ada", exp: Math.floor(Date.now() / 1_000) + 3_600, ...claims })
        .setProtectedHeader({ alg: "HS256", ...header })
        .sign(new TextEncoder().encode(SECRET)),
    nextIssuer(kind) {
      const path = `/${kind}/${count[kind]++ % ISSUERS}`;
      return { path, url: foe.url + path };
    },
    async close() {
      await gateway.stop();
      await foe.close();
    },
  };
}

function configOf(port: number, foe: string): object {
  const each = Array.from({ length: ISSUERS }, (_, index) => index);
  return {
    listeners: { main: { port } },
    publicUrl: `http://127.0.0.1:${port}`,
    store: "sqlite:./gateway.db",
    management: { mutations: true },
    log: { level: "info", format: "json" },
    auth: {
      keys: { root: { role: "admin", hash: `sha256:${digestOf(ADMIN)}` } },
      jwt: { secret: SECRET, issuer: "tests" },
      maxFailures: 0,
    },
    plugins: {
      access: {},
      admin: {},
      gating: {},
      mcp: {},
      openapi: {},
      oauth: {
        provider: { issuer: `${foe}/provider`, clientId: "gateway" },
        roles: { caller: "everyone" },
        clients: { [PROGRAM.id]: { name: "Program", redirects: [PROGRAM.redirect] } },
        registration: { perAddress: 10_000 },
        allowedAddresses: ["127.0.0.1"],
        secretKeys: [SECRET],
      },
      "oauth-resource": {
        issuers: Object.fromEntries([
          ...each.map((at) => [
            `keys-${at}`,
            { issuer: `${foe}/keys/${at}`, jwks: `${foe}/keys/${at}` },
          ]),
          ...each.map((at) => [`metadata-${at}`, { issuer: `${foe}/metadata/${at}` }]),
          [
            "asked",
            {
              issuer: `${foe}/asked`,
              introspection: {
                url: `${foe}/asked`,
                clientId: "gateway",
                clientSecret: SECRET,
                prefix: "ask-",
                ttl: 0,
              },
            },
          ],
        ]),
        allowedAddresses: ["127.0.0.1"],
      },
      sessions: {},
      "team-auth": { secretKeys: [SECRET] },
      ui: {},
    },
  };
}
