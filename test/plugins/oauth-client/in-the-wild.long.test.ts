import { describe, expect, it } from "vitest";
import { OddLogin, type OddScript } from "../../fixtures/odd-login.ts";
import { setupOdd } from "./odd-rig.ts";

const RESOURCE = "GET /.well-known/oauth-protected-resource/mcp";
const METADATA = "GET /.well-known/oauth-authorization-server";
const NOWHERE = { status: 404, body: {} };

/** What no line of the log and no page may hold. */
const SECRETS = /token-of-ada|code-of-ada|refresh-of-ada|client-secret/;

type Script = (odd: OddLogin) => OddScript;

type Row = readonly [name: string, script: Script, auth?: (odd: OddLogin) => object];

const token =
  (changes: object, status = 200): Script =>
  (odd) => ({
    "POST /token": { ...odd.tokens(changes), status },
  });

const challenged =
  (challenge: (odd: OddLogin) => string | string[]): Script =>
  (odd) => ({
    "POST /mcp": ({ authorization }) =>
      authorization === `Bearer ${odd.token}` ? undefined : odd.unauthorized(challenge(odd)),
  });

const PLACE = "/.well-known/oauth-protected-resource/mcp";

const WORKS: readonly Row[] = [
  // Discovery.
  ["names its origin as the resource", (odd) => ({ [RESOURCE]: odd.resource({ resource: odd.origin }) })],
  ["names its origin with a slash as the resource", (odd) => ({ [RESOURCE]: odd.resource({ resource: `${odd.origin}/` }) })],
  ["names itself with a slash at the end", (odd) => ({ [RESOURCE]: odd.resource({ resource: `${odd.url}/` }) })],
  ["refuses without a challenge", () => ({ "POST /mcp": ({ authorization }) => (authorization === undefined ? { status: 401, body: {} } : undefined) })],
  ["refuses with a realm alone", challenged(() => 'Bearer realm="odd"')],
  ["writes its challenge in lower case", challenged(({ origin }) => `bearer RESOURCE_METADATA="${origin}${PLACE}"`)],
  ["sends two challenges in one header", challenged(({ origin }) => `Basic realm="a, b", Bearer resource_metadata="${origin}${PLACE}"`)],
  ["sends two headers with challenges", challenged(({ origin }) => ['Basic realm="x"', `Bearer resource_metadata="${origin}${PLACE}"`])],
  ["refuses with 403 in place of 401", () => ({ "POST /mcp": ({ authorization }) => (authorization === undefined ? { status: 403, body: {} } : undefined) })],
  ["names the path of its metadata", challenged(() => `Bearer resource_metadata="${PLACE}"`)],
  ["names a path of its metadata that begins nowhere", challenged(() => 'Bearer resource_metadata=".well-known/oauth-protected-resource/mcp"')],
  ["names metadata that are elsewhere", challenged(({ origin }) => `Bearer resource_metadata="${origin}/gone"`)],
  ["names metadata at something that is no URL", challenged(() => 'Bearer resource_metadata="http://"')],
  ["has its metadata behind a redirect", (odd) => ({ [RESOURCE]: { status: 302, headers: { location: "/meta.json" } }, "GET /meta.json": odd.resource() })],
  ["has its metadata behind three redirects", (odd) => ({
    [RESOURCE]: { status: 308, headers: { location: `${odd.origin}/a` } },
    "GET /a": { status: 301, headers: { location: "b" } },
    "GET /b": { status: 307, headers: { location: "/meta.json" } },
    "GET /meta.json": odd.resource(),
  })],
  ["has those of its authorization server behind a redirect", (odd) => ({ [METADATA]: { status: 301, headers: { location: "/as.json" } }, "GET /as.json": odd.metadata() })],
  ["wants a login for its metadata", () => ({ [RESOURCE]: { status: 401, headers: { "www-authenticate": "Bearer" }, body: {} } })],
  ["forbids its metadata, and those of its authorization server", () => ({ [RESOURCE]: { status: 403, body: {} }, [METADATA]: { status: 403, body: {} } })],
  ["has no metadata (2025-03-26)", () => ({ [RESOURCE]: NOWHERE })],
  ["has no metadata, nor has its authorization server (2025-03-26)", () => ({ [RESOURCE]: NOWHERE, [METADATA]: NOWHERE })],
  ["answers every unknown path with a page", () => {
    const page = { headers: { "content-type": "text/html; charset=utf-8" }, body: "<html>" };
    return {
      [RESOURCE]: page,
      "GET /.well-known/oauth-protected-resource": page,
      [METADATA]: page,
      "GET /.well-known/openid-configuration": page,
    };
  }],
  ["names several authorization servers", (odd) => ({ [RESOURCE]: odd.resource({ authorization_servers: [odd.origin, "https://other.example"] }) })],
  // Metadata of authorization servers.
  ["has a provider of OpenID Connect alone", (odd) => ({ [METADATA]: NOWHERE, "GET /.well-known/openid-configuration": odd.metadata() })],
  ["has an issuer with a path before the well-known part", (odd) => {
    const issuer = `${odd.origin}/realms/one`;
    return {
      [RESOURCE]: odd.resource({ authorization_servers: [issuer] }),
      "GET /realms/one/.well-known/openid-configuration": odd.metadata({ issuer }),
    };
  }],
  ["has an issuer with a path after it", (odd) => {
    const issuer = `${odd.origin}/realms/one`;
    return {
      [RESOURCE]: odd.resource({ authorization_servers: [issuer] }),
      "GET /.well-known/oauth-authorization-server/realms/one": odd.metadata({ issuer }),
    };
  }],
  ["has an issuer with a slash at its end", (odd) => ({ [METADATA]: odd.metadata({ issuer: `${odd.origin}/` }) })],
  ["has null for every optional member of its metadata", (odd) => ({
    [METADATA]: odd.metadata({
      revocation_endpoint: null, scopes_supported: null, token_endpoint_auth_methods_supported: null,
      id_token_signing_alg_values_supported: null, authorization_response_iss_parameter_supported: null,
    }),
    [RESOURCE]: odd.resource({ scopes_supported: null }),
  })],
  ["supports S256 and does not say so, where the operator does (Entra ID)",
    (odd) => ({ [METADATA]: odd.metadata({ code_challenge_methods_supported: undefined }) }),
    ({ origin }) => ({ issuer: origin, pkce: "assume" })],
  ["says null of PKCE, where the operator says more",
    (odd) => ({ [METADATA]: odd.metadata({ code_challenge_methods_supported: null }) }),
    ({ origin }) => ({ issuer: origin, pkce: "assume", client: { id: "app" } })],
  // Registrations.
  ["answers the registration with 200", () => ({ "POST /register": { body: { client_id: "app" } } })],
  ["answers the registration with members that nobody knows", () => ({ "POST /register": { status: 201, body: { client_id: "app", client_id_issued_at: "x", more: { a: [1] } } } })],
  ["answers the registration with nulls", () => ({ "POST /register": { status: 201, body: { client_id: "app", client_secret: null, token_endpoint_auth_method: null, client_secret_expires_at: null } } })],
  // Redirects.
  ["names itself in the redirect", (odd) => ({ "GET /authorize": ({ fields }) => odd.authorize(fields, { iss: odd.origin }) })],
  // Tokens.
  ["writes expires_in as text", token({ expires_in: "3600" })],
  ["leaves expires_in out", token({ expires_in: undefined })],
  ["writes an expires_in that is no date", token({ expires_in: 1e300 })],
  ["writes an expires_in below zero, for ever", token({ expires_in: -1 })],
  ["leaves token_type out", token({ token_type: undefined })],
  ["writes null as token_type", token({ token_type: null })],
  ["writes token_type in lower case", token({ token_type: "bearer" })],
  ["writes token_type in capitals", token({ token_type: "BEARER" })],
  ["calls its tokens user (Slack)", token({ ok: true, token_type: "user", authed_user: { id: "U1" } })],
  ["calls its tokens bot", token({ ok: true, token_type: "bot" })],
  ["answers null for scope and refresh_token (Pydantic)", token({ scope: null, refresh_token: null, id_token: null })],
  ["answers an empty refresh_token and scope", token({ scope: "", refresh_token: "", id_token: "" })],
  ["writes scopes with commas", token({ scope: "channels:read,chat:write" })],
  ["writes scopes as a list", token({ scope: ["channels:read", "chat:write"] })],
  ["answers tokens with 201", token({}, 201)],
  ["answers tokens without a type", (odd) => ({ "POST /token": { headers: { "content-type": "" }, body: JSON.stringify(odd.tokens().body) } })],
  ["answers tokens as text/plain", (odd) => ({ "POST /token": { headers: { "content-type": "text/plain" }, body: JSON.stringify(odd.tokens().body) } })],
  ["gives tokens of 9 KB", (odd) => {
    odd.token = "t".repeat(9_000);
    return {};
  }],
  ["knows no event streams", () => ({ "GET /mcp": { status: 405, headers: { allow: "POST" }, body: "" } })],
]; // prettier-ignore

it("a server that registers the gateway is told the name that people see", async () => {
  let told = "";
  const odd = await OddLogin.start(() => ({
    "POST /register": ({ fields }) => {
      told = decodeURIComponent(String(fields));
      return undefined;
    },
  }));
  const { logIn } = await setupOdd(odd, {}, { clientName: "Acme" });
  expect((await logIn()).told).toContain("is connected with odd");
  expect(told).toContain('"client_name":"Acme"');
});

describe("bugs-rest: a login works at a server that", () => {
  it.each(WORKS.map(([name, script, auth]) => ({ name, script, auth })))("$name", async (row) => {
    const { script, auth } = row;
    const odd = await OddLogin.start(script);
    const { logIn, whoami, failures, view } = await setupOdd(odd, auth?.(odd));
    const { told, location } = await logIn();
    expect(told).toContain("is connected with odd");
    expect(await whoami()).toBe("ada");
    expect(await view()).toMatchObject({ servers: [{ connected: true }] });
    expect(new URL(location!).searchParams.get("code_challenge_method")).toBe("S256");
    expect(odd.forms.at(-1)!.get("code_verifier")).toMatch(/^[\w-]{43,}$/);
    expect(failures()).toEqual([]);
  });
});

type Refusal = readonly [
  name: string,
  script: Script,
  told: string,
  /** What the log says: what was expected, and what came. */
  expected: string,
  came: string,
];

const REFUSED: readonly Refusal[] = [
  ["names another server's metadata", (odd) => ({ [RESOURCE]: odd.resource({ resource: "https://other.example/mcp" }) }),
    "the server's metadata are those of another", "/mcp, or a path above it", "resource https://other.example/mcp"],
  ["has an authorization server of another name", (odd) => ({ [METADATA]: odd.metadata({ issuer: "https://other.example" }) }),
    "its metadata are not those of its issuer", "issuer http://127.0.0.1", "issuer https://other.example"],
  ["does not say that it supports PKCE", (odd) => ({ [METADATA]: odd.metadata({ code_challenge_methods_supported: undefined }) }),
    "pkce: assume", "code_challenge_methods_supported with S256", "no such member"],
  ["supports PKCE in plain words only", (odd) => ({ [METADATA]: odd.metadata({ code_challenge_methods_supported: ["plain"] }) }),
    "it does not say that it supports PKCE with S256", "code_challenge_methods_supported with S256", "plain"],
  ["answers its metadata with 500", () => ({ [METADATA]: { status: 500, body: {} } }),
    "its metadata answer with HTTP 500", "metadata at http", "HTTP 500"],
  ["takes no more registrations", () => ({ "POST /register": { status: 429, body: {} } }),
    "it answered the gateway's registration with HTTP 429", "HTTP 201 with client_id", "HTTP 429"],
  ["answers the registration with a page", () => ({ "POST /register": { status: 403, headers: { "content-type": "text/html" }, body: "<html>" } }),
    "it answered the gateway's registration with HTTP 403", "HTTP 201 with client_id", "HTTP 403"],
  ["refuses the address of the redirect", () => ({ "POST /register": { status: 400, body: { error: "invalid_redirect_uri" } } }),
    "registration with HTTP 400 and invalid_redirect_uri", "HTTP 201 with client_id", "HTTP 400 and invalid_redirect_uri"],
  ["wants proofs of a key with its tokens", token({ token_type: "DPoP" }),
    "its tokens are of the type dpop, which the gateway cannot use", "token_type Bearer", "token_type dpop"],
  ["wants signatures with its tokens", token({ token_type: "mac" }),
    "its tokens are of the type mac, which the gateway cannot use", "token_type Bearer", "token_type mac"],
  ["answers a form", () => ({ "POST /token": { headers: { "content-type": "application/x-www-form-urlencoded" }, body: "access_token=token-of-ada" } }),
    "its answer to the token request is not a JSON object", "a JSON object with access_token", "HTTP 200, application/x-www-form-urlencoded"],
  ["answers a page", () => ({ "POST /token": { headers: { "content-type": "text/html" }, body: "<html>" } }),
    "its answer to the token request is not a JSON object", "a JSON object with access_token", "HTTP 200, text/html"],
  ["refuses with 200 (Slack)", () => ({ "POST /token": { body: { ok: false, error: "invalid_code" } } }),
    "it refused with invalid_code", "access_token", "invalid_code"],
  ["refuses with 200 and a description (GitHub)", () => ({ "POST /token": { body: { error: "bad_verification_code", error_description: "The code code-of-ada has expired." } } }),
    "it refused with bad_verification_code", "access_token", "bad_verification_code: The code"],
  ["refuses with 200 what will never be good", () => ({ "POST /token": { body: { error: "invalid_grant" } } }),
    "it refused the code with invalid_grant", "access_token", "invalid_grant"],
  ["refuses the client with 401 and a challenge", () => ({ "POST /token": { status: 401, headers: { "www-authenticate": "Basic" }, body: { error: "invalid_client", error_description: "Unknown." } } }),
    "it refused the code with invalid_client", "access_token", "invalid_client: Unknown."],
  ["refuses without an error (FastAPI)", () => ({ "POST /token": { status: 422, body: { detail: [{ loc: ["code-of-ada"] }] } } }),
    "it answered the token request with HTTP 422", "HTTP 200 with access_token", "HTTP 422, application/json with detail"],
  ["refuses with an error that is no text", () => ({ "POST /token": { body: { ok: false, error: { message: "code-of-ada" } } } }),
    "its answer has no access_token", "access_token as text", "HTTP 200, application/json with ok, error"],
  ["fails", () => ({ "POST /token": { status: 503, headers: { "content-type": "text/html" }, body: "<html>" } }),
    "it answered the token request with HTTP 503", "HTTP 200 with access_token", "HTTP 503, text/html"],
  ["fails with the error of a grant that is over", () => ({ "POST /token": { status: 500, body: { error: "invalid_grant" } } }),
    "it answered the token request with HTTP 500", "HTTP 200 with access_token", "HTTP 500, application/json with error"],
  ["answers who somebody is, and no token", token({ access_token: undefined, id_token: "token-of-ada" }),
    "its answer has no access_token", "access_token as text", "with token_type, expires_in, id_token"],
  ["answers a token that cannot be sent", token({ access_token: "token-of-ada\r\nX-More: 1" }),
    "its access_token does not fit into a header", "1 to 16384 printable characters", "23 characters"],
  ["is named by a redirect as another", (odd) => ({ "GET /authorize": ({ fields }) => odd.authorize(fields, { iss: "https://evil.example" }) }),
    "the login came back from another issuer", "iss http://127.0.0.1", "iss https://evil.example"],
  ["does not name itself in a redirect although it promises that", (odd) => ({ [METADATA]: odd.metadata({ authorization_response_iss_parameter_supported: true }) }),
    "the login came back without the issuer that it has to name", "iss http://127.0.0.1", "iss none"],
  ["sends the person back with a refusal", (odd) => ({ "GET /authorize": ({ fields }) => odd.authorize(fields, { error: "access_denied", error_description: "Not in the group code-of-ada." }) }),
    "it refused with access_denied", "code", "access_denied: Not in the group"],
]; // prettier-ignore

describe("bugs-rest 14: the page and the log say why a login fails at a server that", () => {
  it.each(REFUSED)("%s", async (_name, script, told, expected, came) => {
    const odd = await OddLogin.start(script);
    const { logIn, failures, lines, gateway } = await setupOdd(odd);
    const first = await logIn();
    expect(first.told).toContain(told);
    expect(failures()).toEqual([
      expect.objectContaining({
        level: 40,
        server: "odd",
        expected: expect.stringContaining(expected),
        came: expect.stringContaining(came),
      }),
    ]);
    await logIn();
    await logIn();
    expect(failures().map(({ level }) => level)).toEqual([40, 20, 20]);
    expect(first.told + lines.join("")).not.toMatch(SECRETS);
    expect(gateway.servers.get("odd")!.status.state).not.toBe("ready");
  });
});
