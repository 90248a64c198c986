import { exchange, type Input, request } from "./input.ts";
import { type LoginScene, PROGRAM } from "./login-scene.ts";
import { FORM_SHAPES } from "./text-shapes.ts";

/** What a form, a token in a header, and a document of an issuer have room for, in bytes. */
const FORM_BYTES = [16_000];
const HEADER_BYTES = [9_000];
const DOCUMENT_BYTES = [250_000, 4_190_000];

const NOBODY = "00000000-0000-0000-0000-000000000000";
const LATER = "2030-01-01T00:00:00Z";
const TEAM_AUTH = "/_meta/team-auth";
const CONSOLES = "/mcp_server/api";

/** Routes of team-auth with a body; each makes nothing that the next one needs. */
const DIRECTORY: readonly Input<LoginScene>[] = [
  administration("POST", "/users", { id: "ada", name: "Ada" }),
  administration("PATCH", "/users/ada", { name: "Ada", active: true }),
  administration("POST", "/libraries", {
    uid: "l",
    name: "L",
    workspace_id: "w",
    owner: "ada",
  }),
  administration("PATCH", "/libraries/l", { name: "L", workspace_id: null }),
  administration("POST", "/memberships", { user: "ada", library: "l", role: "reader" }),
  administration("POST", "/tokens", {
    user: "ada",
    name: "x",
    kind: "access",
    libraries: ["l"],
    expires_at: LATER,
  }),
  administration("POST", "/tokens/import", {
    tokens: [{ user: "ada", name: "x", hash: "0".repeat(64), libraries: ["l"], expires_at: LATER }],
  }),
  administration("PATCH", `/tokens/${NOBODY}`, { name: "x", libraries: ["l"], active: true }),
  administration("POST", `/tokens/${NOBODY}/replace`, {}),
  administration("POST", "/teams", { id: NOBODY, name: "Team", owner: "ada" }),
  administration("PATCH", `/teams/${NOBODY}`, { name: "Team" }),
  administration("PUT", `/teams/${NOBODY}/workspaces`, { workspace_ids: ["w"] }),
  administration("POST", `/teams/${NOBODY}/rotate`, { grace: "1h" }),
  administration("POST", `/teams/${NOBODY}/reactivate`, {}),
  administration("POST", "/keys", { alg: "EdDSA" }),
  administration("POST", "/keys/nothere/retire", {}),
  administration("POST", "/keys/nothere/reveal", {}),
  administration("POST", "/accounts", { name: "console", password: "a password of a console" }),
  administration("PATCH", "/accounts/nothere", { password: "a password of a console" }),
  asAdmin("POST", `${CONSOLES}/teams`, { id: NOBODY, name: "Team" }),
  asAdmin("PUT", `${CONSOLES}/teams/${NOBODY}/workspaces`, { workspace_ids: ["w"] }),
  asAdmin("POST", `${CONSOLES}/teams/${NOBODY}/rotate`, {}),
];

/** Routes of the authorization server, and where browsers sign in. */
const LOGINS: readonly Input<LoginScene>[] = [
  request("POST", "/oauth/register", {
    client_name: "Program",
    redirect_uris: [PROGRAM.redirect],
    grant_types: ["authorization_code"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    contacts: ["ada@example.org"],
  }),
  {
    ...request("POST", "/oauth/register", {
      client_name: "Program",
      redirect_uris: [PROGRAM.redirect],
      jwks: { keys: [{ kty: "OKP" }] },
    }),
    name: "POST /oauth/register, small",
    sizes: FORM_BYTES,
  },
  form("/oauth/token"),
  form("/oauth/revoke"),
  form("/oauth/consent"),
  form(`${CONSOLES}/introspect`),
  asAdmin("POST", "/ui/session", {}),
  asAdmin("POST", "/_meta/oauth/keys", { compromised: false }),
];

const CLAIMS = { iss: "tests", role: ["caller"], groups: { a: [1] }, aud: ["x"], scope: "a" };

/** Tokens: those of the gateway's own secret are right, of others nothing is proven. */
const TOKENS: readonly Input<LoginScene>[] = [
  // Nobody can sign what nests too deep.
  token("claims of a token", CLAIMS, async (scene, claims) => scene.sign(claims)),
  token("header of a token", { kid: "x", typ: "JWT", crit: ["x"] }, async (_scene, header) =>
    [header, CLAIMS, "x"].map(encode).join("."),
  ),
  token("claims of a token that nobody signed", CLAIMS, async (_scene, claims) =>
    [{ alg: "none" }, claims, ""].map(encode).join("."),
  ),
];

/** What issuers answer. */
const ISSUERS: readonly Input<LoginScene>[] = [
  answered(
    "keys of an issuer",
    { keys: [{ kty: "OKP", kid: "x", crv: "Ed25519", x: "AA" }] },
    (scene) => scene.nextIssuer("keys"),
  ),
  {
    name: "metadata of an issuer",
    sample: {
      issuer: "x",
      jwks_uri: "x",
      scopes_supported: ["a"],
      mtls_endpoint_aliases: { a: 1 },
    },
    sizes: DOCUMENT_BYTES,
    async send(scene, bytes) {
      const { path, url } = scene.nextIssuer("metadata");
      const places = [
        `/.well-known/oauth-authorization-server${path}`,
        `/.well-known/openid-configuration${path}`,
        `${path}/.well-known/openid-configuration`,
      ];
      for (const place of places) scene.foe.say(place, bytes);
      await showToken(scene, url);
      for (const place of places) scene.foe.say(place, undefined);
    },
  },
  answered(
    "introspection of an issuer",
    { active: true, sub: "ada", scope: "a", aud: ["x"], groups: { a: [1] } },
    ({ foe }) => ({ path: "/asked", url: `${foe.url}/asked` }),
  ),
  {
    name: "token answer of the login provider",
    sample: { access_token: "x", token_type: "Bearer", id_token: "x.y.z", other: { a: [1] } },
    sizes: DOCUMENT_BYTES,
    async send(scene, bytes) {
      scene.foe.say("/provider/token", bytes);
      await logIn(scene);
      scene.foe.say("/provider/token", undefined);
    },
  },
];

/** What comes to a gateway that people log in to. */
export const LOGIN_INPUTS: readonly Input<LoginScene>[] = [
  ...DIRECTORY,
  ...LOGINS,
  ...TOKENS,
  ...ISSUERS,
];

function administration(method: string, path: string, sample: unknown): Input<LoginScene> {
  return asAdmin(method, TEAM_AUTH + path, sample);
}

function asAdmin(method: string, path: string, sample: unknown): Input<LoginScene> {
  return {
    ...request(method, path, sample),
    send: (scene, bytes) => askAsAdmin(scene, `${method} ${path}`, bytes),
  };
}

/** @throws where the gateway does not know the admin: nothing would be tried then */
async function askAsAdmin(
  { gateway, admin }: LoginScene,
  route: string,
  bytes: Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const [method = "", path = ""] = route.split(" ");
  const all = { ...admin, origin: gateway.url, ...headers };
  const status = await exchange(gateway.url + path, method, bytes, all);
  if (status === 401 || status === 403) throw new Error(`${route} was answered with ${status}.`);
}

function form(path: string): Input<LoginScene> {
  const type = { "content-type": "application/x-www-form-urlencoded" };
  return {
    name: `POST ${path}`,
    route: `POST ${path}`,
    sample: "grant_type=authorization_code",
    shapes: FORM_SHAPES,
    sizes: [...FORM_BYTES, 4_190_000],
    send: (scene, bytes) => askAsAdmin(scene, `POST ${path}`, bytes, type),
  };
}

/** A token with what is made of a sample, shown where anybody may come. */
function token(
  name: string,
  sample: object,
  make: (scene: LoginScene, claims: object) => Promise<string>,
): Input<LoginScene> {
  return {
    name,
    sample,
    sizes: HEADER_BYTES,
    async send(scene, bytes) {
      const made = await make(scene, JSON.parse(bytes.toString()) as object).catch(() => "a.b.c");
      await exchange(`${scene.gateway.url}/mcp`, "POST", PING, bearer(made));
    },
  };
}

/** What an issuer answers when one of its tokens is shown. */
function answered(
  name: string,
  sample: object,
  next: (scene: LoginScene) => { readonly path: string; readonly url: string },
): Input<LoginScene> {
  return {
    name,
    sample,
    sizes: DOCUMENT_BYTES,
    async send(scene, bytes) {
      const { path, url } = next(scene);
      scene.foe.say(path, bytes);
      await showToken(scene, url);
      scene.foe.say(path, undefined);
    },
  };
}

const PING = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}');

async function showToken({ gateway }: LoginScene, iss: string): Promise<void> {
  const soon = Math.floor(Date.now() / 1_000) + 600;
  const made = [{ alg: "EdDSA", kid: "x" }, { iss, sub: "ada", exp: soon }, "x"].map(encode);
  const shown = iss.endsWith("/asked") ? `ask-${soon}` : made.join(".");
  await exchange(`${gateway.url}/mcp`, "POST", PING, bearer(shown));
}

function bearer(shown: string): Readonly<Record<string, string>> {
  return {
    accept: "application/json, text/event-stream",
    authorization: `Bearer ${shown}`,
  };
}

/** Goes the way of a person up to where the gateway asks the provider who that is. */
async function logIn({ gateway, foe }: LoginScene): Promise<void> {
  const asked = new URLSearchParams({
    response_type: "code",
    client_id: PROGRAM.id,
    redirect_uri: PROGRAM.redirect,
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
    resource: `${gateway.url}/mcp`,
    state: "x",
  });
  const begun = await fetch(`${gateway.url}/oauth/authorize?${asked.toString()}`, {
    redirect: "manual",
  });
  const location = begun.headers.get("location");
  if (!location?.startsWith(foe.url)) throw new Error(`${begun.status} ${await begun.text()}`);
  const state = new URL(location).searchParams.get("state")!;
  const [cookie = ""] = begun.headers.getSetCookie().map((line) => line.split(";", 1)[0]!);
  const back = `${gateway.url}/oauth/callback?code=x&state=${state}&iss=${encodeURIComponent(`${foe.url}/provider`)}`;
  await exchange(back, "GET", undefined, { cookie });
}

function encode(value: unknown): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString(
    "base64url",
  );
}
