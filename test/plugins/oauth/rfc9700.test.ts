import { generateKeyPairSync, randomUUID } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import { decodeJwt, decodeProtectedHeader, SignJWT } from "jose";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type AccessTokenParts,
  SignedAccess,
} from "../../../plugins/oauth/tokens/access-tokens.ts";
import type { KeyRing } from "../../../plugins/oauth/tokens/key-ring.ts";
import type { ShownPage } from "../../fixtures/browser.ts";
import { startClock } from "../../fixtures/clock.ts";
import { ask } from "../oauth-resource/kit.ts";
import { Program } from "./attempt.ts";
import { REDIRECT, setupLogin, visit } from "./kit.ts";

const WEB = "https://app.example/callback";

async function setupProgram(rig: Parameters<typeof setupLogin>[0] = {}) {
  const gateway = await setupLogin(rig);
  const program = new Program(gateway.url);
  await program.register({ redirect_uris: [REDIRECT, WEB] });
  return { ...gateway, program };
}

/** What a program and its person get of a request that should give them nothing: an error, at one place or the other. */
async function refusalOf(program: Program, fields: Record<string, string | undefined>) {
  const end = await visit(program.browser, program.start(fields));
  const url = new URL(end instanceof URL ? end.href : end.url);
  const given = ["code", "access_token", "id_token"].filter((name) =>
    new RegExp(`[?&#]${name}=`).test(url.href),
  );
  const refused = end instanceof URL ? url.searchParams.has("error") : end.status === 400;
  return { refused, given };
}

const NOTHING = { refused: true, given: [] };

it("an access token says its kind, its issuer, its person, its audience and its end", async () => {
  const { program, url, endpoint } = await setupProgram();
  const { access_token: token = "", expires_in: left } = await program.tokens();
  expect(decodeProtectedHeader(token)).toEqual({
    alg: expect.stringMatching(/^(?:EdDSA|ES256)$/),
    typ: "at+jwt",
    kid: expect.any(String),
  });
  const claims = decodeJwt(token);
  expect(claims).toMatchObject({
    iss: url,
    sub: "ada",
    aud: endpoint,
    client_id: program.id,
    jti: expect.any(String),
  });
  expect(claims.exp! - claims.iat!).toBe(left);
});

it("what the gateway's key signed for something else is not an access token", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const key = { kid: "k", alg: "EdDSA" as const, secret: privateKey, publicKey, jwk: {}, from: 0 };
  const ring = { signer: key, keys: [key], has: () => true } as unknown as KeyRing;
  const parts: Partial<AccessTokenParts> = {
    ring,
    issuer: () => "https://gw.example",
    isLive: () => true,
  };
  const { verify } = new SignedAccess(parts as AccessTokenParts);
  const sign = (typ?: string): Promise<string> =>
    new SignJWT({ grant: "g", roles: ["caller"], client_id: "c" })
      .setProtectedHeader({ alg: "EdDSA", kid: "k", ...(typ !== undefined && { typ }) })
      .setIssuer("https://gw.example")
      .setSubject("ada")
      .setAudience("https://gw.example/mcp")
      .setExpirationTime("1m")
      .sign(privateKey);
  expect(await verify(await sign("at+jwt"))).toMatchObject({ grant: "g" });
  for (const typ of [undefined, "JWT", "logout+jwt", "token-introspection+jwt"])
    await expect(verify(await sign(typ))).rejects.toThrow('"typ"');
});

describe("what the gateway does not offer", () => {
  it.each(["token", "id_token", "id_token token", "code token", "code id_token", "none", ""])(
    "is a login that gives tokens without a code: response_type %j",
    async (type) => {
      const { program } = await setupProgram();
      expect(await refusalOf(program, { response_type: type })).toEqual(NOTHING);
    },
  );

  it.each(["fragment", "form_post", "web_message", "jwt", "query.jwt"])(
    "is an answer by another way than a redirect with a query: response_mode %j",
    async (mode) => {
      const { program } = await setupProgram();
      expect(await refusalOf(program, { response_mode: mode })).toEqual(NOTHING);
    },
  );

  it.each([
    "password",
    "client_credentials",
    "implicit",
    "urn:ietf:params:oauth:grant-type:jwt-bearer",
    "urn:ietf:params:oauth:grant-type:device_code",
    "urn:ietf:params:oauth:grant-type:token-exchange",
  ])("is the grant %s", async (kind) => {
    const { program } = await setupProgram();
    const { status, body } = await program.post("/oauth/token", {
      grant_type: kind,
      username: "ada",
      password: "x",
      client_id: program.id,
    });
    expect([status, body]).toMatchObject([400, { error: "unsupported_grant_type" }]);
    expect(body.access_token).toBeUndefined();
  });

  it("does not stand in its metadata, and what it offers does", async () => {
    const { url } = await setupLogin();
    const told = await fetch(`${url}/.well-known/oauth-authorization-server`);
    const metadata = (await told.json()) as Record<string, unknown>;
    expect(metadata).toMatchObject({
      issuer: url,
      response_types_supported: ["code"],
      response_modes_supported: ["query"],
      grant_types_supported: ["authorization_code", "refresh_token"],
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
    });
    // Tokens are not bound to a key of the program: nothing may promise that they are.
    expect(Object.keys(metadata).filter((name) => /dpop|tls_client|mtls/.test(name))).toEqual([]);
  });
});

describe("a login", () => {
  it.each([
    ["without a challenge", { code_challenge: undefined, code_challenge_method: undefined }],
    ["with a plain challenge", { code_challenge_method: "plain" }],
    ["with a challenge of no method", { code_challenge_method: undefined }],
    ["with a short challenge", { code_challenge: "x" }],
    ["with a challenge that is the verifier of nothing", { code_challenge: "" }],
  ])("%s is refused", async (_what, fields) => {
    const { program } = await setupProgram();
    expect(await refusalOf(program, fields)).toEqual(NOTHING);
  });

  it("names the gateway in its answer, and gives back the state of the program as it was", async () => {
    const { program, url } = await setupProgram();
    const state = "a state & more=1#x";
    const answer = await program.login({}, { state });
    expect([answer.get("iss"), answer.get("state")]).toEqual([url, state]);
    const denied = await program.login({ choice: "deny" }, { state });
    expect([denied.get("error"), denied.get("iss")]).toEqual(["access_denied", url]);
  });

  it("never sends a form on to the program: each redirect drops what was typed (303, not 307)", async () => {
    const { program, url } = await setupProgram();
    const statuses = new Map<string, number>();
    const note = (message: unknown): void => {
      const { request, response } = message as {
        request: IncomingMessage;
        response: ServerResponse;
      };
      const own = new URL(request.url!, url);
      if (request.headers.host === own.host) statuses.set(own.pathname, response.statusCode);
    };
    subscribe("http.server.response.finish", note);
    onTestFinished(() => void unsubscribe("http.server.response.finish", note));
    await program.login();
    expect(Object.fromEntries(statuses)).toEqual({
      "/oauth/authorize": 302,
      "/oauth/callback": 200,
      "/oauth/consent": 303,
    });
  });

  it("shows pages that no other page can frame, that load nothing and run nothing", async () => {
    const { program, url } = await setupProgram();
    const pages: ShownPage[] = [];
    await program.login({ onConsent: (page) => void pages.push(page) });
    for (const broken of [program.start({ client_id: "nobody" }), `${url}/oauth/callback?state=x`])
      pages.push((await program.browser.open(broken)) as ShownPage);
    expect(pages).toHaveLength(3);
    for (const { headers, text } of pages) {
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("content-security-policy")).toMatch(
        /^default-src 'none'; style-src 'sha256-[^;]+; form-action [^;]+; base-uri 'none'; frame-ancestors 'none'$/,
      );
      expect(headers.get("referrer-policy")).toMatch(/^(?:same-origin|no-referrer)$/);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(text).not.toMatch(/<(?:script|img|iframe|link|a)\b|postMessage/i);
    }
  });

  it("does not answer pages of another origin, as the other endpoints do (CORS)", async () => {
    const origin = "https://app.example";
    const { program, url } = await setupProgram({
      config: { listeners: { main: { port: 0, allowedOrigins: [origin] } } },
    });
    const allowed = async (path: string, init: RequestInit = {}) => {
      const headers = { origin, "access-control-request-method": "GET" };
      const response = await fetch(new URL(path, url), { redirect: "manual", headers, ...init });
      return response.headers.get("access-control-allow-origin");
    };
    for (const path of [program.start().href, "/oauth/authorize/", "/oauth/callback?state=x"])
      for (const method of ["GET", "OPTIONS"])
        expect([path, method, await allowed(path, { method })]).toEqual([path, method, null]);
    expect(await allowed("/oauth/consent", { method: "POST" })).toBeNull();
    const metadata = "/.well-known/oauth-authorization-server";
    for (const path of [metadata, "/oauth/jwks.json"]) expect(await allowed(path)).toBe(origin);
    for (const path of ["/oauth/token", "/oauth/register"])
      expect(await allowed(path, { method: "OPTIONS" })).toBe(origin);
  });
});

describe("a program that registers", () => {
  it.each([
    "http://app.example/callback",
    "http://10.0.0.5/callback",
    "http://localhost.app.example/callback",
    "javascript:alert(1)",
  ])("cannot have its answers at %s", async (uri) => {
    const { url } = await setupLogin();
    const program = new Program(url);
    const { status, body } = await program.register({ redirect_uris: [uri] });
    expect([status, body["error"]]).toEqual([400, "invalid_redirect_uri"]);
  });

  it("has no pattern: a star in its redirect URI is a character like any other", async () => {
    const { url } = await setupLogin();
    const program = new Program(url);
    await program.register({ redirect_uris: ["https://*.app.example/*", `${WEB}*`] });
    for (const uri of ["https://sub.app.example/callback", `${WEB}/x`, WEB])
      expect([uri, await refusalOf(program, { redirect_uri: uri })]).toEqual([uri, NOTHING]);
  });

  it("does not choose its own id, and is nobody's person", async () => {
    const { url, endpoint } = await setupLogin();
    const program = new Program(url);
    await program.register({
      client_id: "ada",
      sub: "ada",
      software_id: "ada",
      client_name: "ada",
      redirect_uris: [REDIRECT],
    });
    expect(program.id).not.toBe("ada");
    const { access_token: token = "" } = await program.tokens({ name: "bob" });
    expect(decodeJwt(token)).toMatchObject({ sub: "bob", client_id: program.id });
    expect((await ask(endpoint, token)).status).toBe(200);
  });
});

describe("a refresh token", () => {
  it("gives no more than its person allowed: not another resource, not another scope", async () => {
    const scopes = { scopes: { "mcp:call": "caller", "mcp:operate": "operator" } };
    const { program } = await setupProgram({
      resource: scopes,
      options: { roles: { operator: "everyone" } },
    });
    const { refresh_token: first = "" } = await program.tokens({}, { scope: "mcp:call" });
    const wider = await program.refresh(first, { scope: "mcp:call mcp:operate" });
    expect(wider.body.scope).toBe("mcp:call");
    const other = { resource: "https://other.example/mcp" };
    const foreign = await program.refresh(wider.body.refresh_token!, other);
    expect(foreign.body.error).toBe("invalid_target");
  });

  it("cannot be made or changed by hand", async () => {
    const { program } = await setupProgram();
    const { refresh_token: good = "" } = await program.tokens();
    for (const forged of [`${good}x`, good.slice(0, -1), good.toUpperCase(), randomUUID(), ""]) {
      const { status, body } = await program.refresh(forged);
      expect([status, body.access_token]).toEqual([400, undefined]);
    }
    expect((await program.refresh(good)).status).toBe(200);
  });

  it("ends with the login that it continues, however often it is used", async () => {
    const { program } = await setupProgram({ options: { login: "1h" } });
    const passTime = startClock();
    const { refresh_token: first = "" } = await program.tokens();
    passTime(50 * 60_000);
    const { refresh_token: next = "" } = (await program.refresh(first)).body;
    passTime(11 * 60_000);
    expect((await program.refresh(next)).body.error).toBe("invalid_grant");
  });
});
