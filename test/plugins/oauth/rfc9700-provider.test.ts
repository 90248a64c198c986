import { describe, expect, it } from "vitest";
import { createIssuerKey, ScriptedIssuer } from "../../fixtures/issuer.ts";
import { SECRET, type RealProvider } from "../../fixtures/oidc-provider.ts";
import { Program } from "./attempt.ts";
import { IdTokens } from "../../../plugins/oauth/people/id-tokens.ts";
import { setupLogin, visit } from "./kit.ts";

type Claims = Readonly<Record<string, unknown>>;

/** How a provider signs; default: with its key. */
type Sign = (issuer: ScriptedIssuer, claims: Claims) => Promise<string>;

interface How {
  readonly header?: Claims | undefined;
  readonly sign?: Sign;
  /** What it says of itself. */
  readonly metadata?: Claims;
}

/** A gateway whose login provider answers with an ID token as a test says. */
async function setupScripted(change: (claims: Claims) => Claims, how: How = {}) {
  const { header = {}, metadata = {} } = how;
  const { sign = (of: ScriptedIssuer, claims: Claims) => of.sign(claims, { typ: "JWT" }) } = how;
  const issuer = await ScriptedIssuer.start();
  issuer.metadata = metadata;
  issuer.clients.set("gateway", SECRET);
  const answer = async (): Promise<object> => {
    const { nonce } = issuer.visitsTo("/authorize").at(-1)!.fields;
    const usual = { aud: "gateway", iat: Math.floor(Date.now() / 1_000), nonce, name: "Ada" };
    const token = await sign(issuer, change({ iss: issuer.url, ...usual }));
    const [head, ...rest] = token.split(".");
    const own = {
      ...(JSON.parse(Buffer.from(head!, "base64url").toString()) as object),
      ...header,
    };
    const id_token = [Buffer.from(JSON.stringify(own)).toString("base64url"), ...rest].join(".");
    return { access_token: "at", token_type: "Bearer", expires_in: 300, id_token };
  };
  issuer.prank = (req, res) => {
    if (req.url !== "/token") return false;
    void answer().then((body) => {
      res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    return true;
  };
  const rig = await setupLogin({ provider: { url: issuer.url } as RealProvider });
  const program = new Program(rig.url);
  await program.register();
  return { ...rig, program, issuer };
}

/** Whether a login ended with a code for the program. */
async function isLoggedIn(program: Program): Promise<boolean> {
  const end = await visit(program.browser, program.start());
  return end instanceof URL && end.searchParams.has("code");
}

describe("at the login provider", () => {
  it("a person is sent with a challenge, a nonce and a state that no other login has", async () => {
    const { program, issuer } = await setupScripted((claims) => claims);
    expect(await isLoggedIn(program)).toBe(true);
    expect(await isLoggedIn(program)).toBe(true);
    const asked = issuer.visitsTo("/authorize").map(({ fields }) => fields);
    expect(asked).toHaveLength(2);
    for (const fields of asked)
      expect(fields).toMatchObject({ response_type: "code", code_challenge_method: "S256" });
    for (const name of ["state", "nonce", "code_challenge"])
      expect(new Set(asked.map((fields) => fields[name])).size).toBe(2);
    const redeemed = issuer.visitsTo("/token").map(({ fields }) => fields["code_verifier"]);
    expect(new Set(redeemed).size).toBe(2);
  });

  it.each<[string, (claims: Claims) => Claims, Claims?]>([
    ["with the nonce of another login", (claims) => ({ ...claims, nonce: "another" })],
    ["without a nonce", (claims) => ({ ...claims, nonce: undefined })],
    ["of another issuer", (claims) => ({ ...claims, iss: "https://evil.example" })],
    ["for another program", (claims) => ({ ...claims, aud: "another" })],
    [
      "for several, of which another one asked",
      (claims) => ({ ...claims, aud: ["gateway", "b"], azp: "b" }),
    ],
    ["that has expired", (claims) => ({ ...claims, exp: 1 })],
    ["without a subject", (claims) => ({ ...claims, sub: undefined })],
    ["without a signature", (claims) => claims, { alg: "none" }],
    ["signed with a shared secret", (claims) => claims, { alg: "HS256" }],
  ])("an ID token %s lets nobody in", async (_what, change, header) => {
    const { program, issuer } = await setupScripted(change, { header });
    expect(await isLoggedIn(program)).toBe(false);
    expect(issuer.visitsTo("/token")).toHaveLength(1);
  });

  it.each<[string, (answer: URLSearchParams) => void]>([
    ["names another issuer", (answer) => answer.set("iss", "https://evil.example")],
    ["has another state", (answer) => answer.set("state", "another")],
    ["has no state", (answer) => answer.delete("state")],
    ["has two codes", (answer) => answer.append("code", "another")],
  ])("an answer that %s is not redeemed", async (_what, change) => {
    const { program, issuer } = await setupScripted((claims) => claims);
    let answer = "";
    const { origin } = new URL(program.url);
    // Up to the provider's redirect, as a browser goes.
    const asked = await fetch(program.start(), { redirect: "manual" });
    const cookie = asked.headers
      .getSetCookie()
      .map((each) => each.split(";")[0])
      .join("; ");
    const sent = await fetch(asked.headers.get("location")!, { redirect: "manual" });
    answer = sent.headers.get("location")!;
    expect(answer.startsWith(`${origin}/oauth/callback?`)).toBe(true);
    const bent = new URL(answer);
    change(bent.searchParams);
    const ended = await fetch(bent, { redirect: "manual", headers: { cookie } });
    expect(ended.headers.get("location") ?? "").not.toMatch(/[?&]code=/);
    expect(await ended.text()).not.toContain("<form");
    expect(issuer.visitsTo("/token")).toEqual([]);
  });
});

describe("the signature of an ID token (OpenID Connect Core section 3.1.3.7)", () => {
  const same = (claims: Claims): Claims => claims;
  const secret = (issuer: ScriptedIssuer, claims: Claims, text: string): Promise<string> =>
    issuer.sign(claims, { alg: "HS256", kid: undefined }, Buffer.from(text));

  it.each<[string, Sign]>([
    [
      "with a key of somebody else",
      async (issuer, claims) => issuer.sign(claims, {}, (await createIssuerKey("x")).privateKey),
    ],
    [
      "with a key that is not in the set",
      async (issuer, claims) => {
        const key = await createIssuerKey("unknown");
        return issuer.sign(claims, { kid: "unknown" }, key.privateKey);
      },
    ],
    [
      "and changed afterwards",
      async (issuer, claims) => {
        const [head, , signature] = (await issuer.sign(claims)).split(".");
        const body = JSON.stringify({ iss: issuer.url, exp: 9e9, ...claims, sub: "grace" });
        return [head, Buffer.from(body).toString("base64url"), signature].join(".");
      },
    ],
    [
      "not at all, where the metadata list none",
      async (issuer, claims) => {
        const [, body] = (await issuer.sign(claims)).split(".");
        return `${Buffer.from('{"alg":"none"}').toString("base64url")}.${body}.`;
      },
    ],
    [
      "with another secret than that of the gateway",
      (issuer, claims) => secret(issuer, claims, "another secret of 32 characters!"),
    ],
    [
      "with its public key as a secret",
      (issuer, claims) => {
        const { publicKey } = issuer.keys[0]!;
        return secret(issuer, claims, publicKey.export({ type: "spki", format: "pem" }) as string);
      },
    ],
  ])("of a token that is signed %s lets nobody in", async (_how, sign) => {
    const { program, issuer } = await setupScripted(same, {
      sign,
      metadata: { id_token_signing_alg_values_supported: ["ES256", "HS256", "none"] },
    });
    expect(await isLoggedIn(program)).toBe(false);
    expect(issuer.visitsTo("/token")).toHaveLength(1);
  });

  it("with the secret that both sides have lets people in", async () => {
    const sign: Sign = (issuer, claims) => secret(issuer, claims, SECRET);
    const metadata = { id_token_signing_alg_values_supported: ["HS256"] };
    const { program } = await setupScripted(same, { sign, metadata });
    expect(await isLoggedIn(program)).toBe(true);
  });

  it("is checked with keys that are read once", async () => {
    const { program, issuer } = await setupScripted(same);
    expect(await isLoggedIn(program)).toBe(true);
    expect(await isLoggedIn(program)).toBe(true);
    expect(issuer.visitsTo("/jwks")).toHaveLength(1);
  });

  it.each<[string, Claims]>([
    ["names no keys, over plain HTTP", { jwks_uri: undefined }],
    ["names keys at an address that it must not name", { jwks_uri: "https://10.0.0.1/jwks" }],
    ["names keys over plain HTTP", { jwks_uri: "http://keys.example/jwks" }],
  ])("of a provider that %s lets nobody in", async (_what, metadata) => {
    const { program } = await setupScripted(same, { metadata });
    expect(await isLoggedIn(program)).toBe(false);
  });

  it("is vouched for by TLS alone where a provider has no keys, and is never none", async () => {
    const issuer = await ScriptedIssuer.start();
    const of = (endpoint: string, clientSecret?: string): IdTokens =>
      new IdTokens({
        metadata: async () => ({ issuer: issuer.url, token_endpoint: endpoint }),
        fetch: () => expect.unreachable("there is nothing to fetch"),
        clientSecret,
        rsaAlgorithm: "RS256",
      });
    const token = await issuer.sign({});
    await expect(of("https://login.example/token").verify(token)).resolves.toBeUndefined();
    await expect(of("http://127.0.0.1/token").verify(token)).rejects.toThrow(
      "An issuer did not answer",
    );
    const none = Buffer.from('{"alg":"none"}').toString("base64url");
    const bare = `${none}.${token.split(".")[1]}.`;
    await expect(of("https://login.example/token").verify(bare)).rejects.toThrow("not allowed");
    const short = await secret(issuer, {}, "short");
    for (const own of [undefined, "short"])
      await expect(of("https://login.example/token", own).verify(short)).rejects.toThrow("32");
  });
});
