import { randomUUID } from "node:crypto";
import { exportJWK, generateKeyPair, type GenerateKeyPairResult, type JWK, SignJWT } from "jose";
import { pino } from "pino";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";
import { KeySet } from "../../../plugins/keys/index.ts";
import { ClientAssertions } from "../../../plugins/oauth/clients/client-assertions.ts";
import { INSIDE } from "../../fixtures/inside.ts";
import { startClock } from "../../fixtures/clock.ts";
import { ask } from "../oauth-resource/kit.ts";
import { Program } from "./attempt.ts";
import { documentOf, sendJson, serveDocuments } from "./client-documents.ts";
import { setupLogin } from "./kit.ts";

const TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

interface Key {
  readonly kid: string;
  readonly jwk: JWK;
  readonly secret: GenerateKeyPairResult["privateKey"];
}

async function createKey(kid: string, alg = "ES256"): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, jwk: { ...(await exportJWK(publicKey)), kid, alg }, secret: privateKey };
}

/** A program with a key, whose document and keys a test may change. */
async function setupKeyed(change: (own: string) => Record<string, unknown> = () => ({})) {
  const key = await createKey("first");
  const set = { keys: [key.jwk] };
  const { url: document, paths } = await serveDocuments((req, res, own) => {
    if (req.url === "/jwks") return sendJson(res, set);
    const keys = { jwks_uri: new URL("/jwks", own).href };
    const method = { token_endpoint_auth_method: "private_key_jwt" };
    return sendJson(res, { ...documentOf(own), ...method, ...keys, ...change(own) });
  });
  const rig = await setupLogin({ options: { allowedAddresses: ["localhost"] } });
  const program = new Program(rig.url);
  program.id = document;
  const sign = (
    claims: Record<string, unknown> = {},
    { kid, secret } = key,
    header: { readonly typ?: string; readonly alg?: string } = {},
  ): Promise<string> => {
    const now = Math.floor(Date.now() / 1_000);
    const usual = { iss: document, sub: document, aud: rig.url, exp: now + 60, jti: randomUUID() };
    return new SignJWT({ ...usual, ...claims })
      .setProtectedHeader({ alg: "ES256", kid, ...header })
      .sign(secret);
  };
  const prove = async (claims = {}, by = key, header = {}) => ({
    client_assertion_type: TYPE,
    client_assertion: await sign(claims, by, header),
  });
  return { ...rig, program, document, paths, key, set, sign, prove };
}

describe("a program with a key (private_key_jwt)", () => {
  it("logs people in, refreshes and logs out, each time with a new assertion", async () => {
    const { program, prove, endpoint, url, paths } = await setupKeyed();
    const code = (await program.login()).get("code")!;
    const { body } = await program.redeem(code, await prove());
    expect((await ask(endpoint, body.access_token)).status).toBe(200);
    // Its id may stand in the assertion alone, and its audience be the token endpoint.
    const more = { ...(await prove({ aud: `${url}/oauth/token` })), client_id: undefined };
    const next = await program.refresh(body.refresh_token!, more);
    expect((await ask(endpoint, next.body.access_token)).status).toBe(200);
    const out = { token: next.body.refresh_token, client_id: program.id, ...(await prove()) };
    expect((await program.post("/oauth/revoke", out)).status).toBe(200);
    expect((await ask(endpoint, next.body.access_token)).status).toBe(401);
    expect(paths).toEqual(["/client.json", "/jwks"]);
  });

  it("may have its keys in its document", async () => {
    const key = await createKey("inline");
    const jwks = { keys: [key.jwk] };
    const { program, prove } = await setupKeyed(() => ({ jwks, jwks_uri: undefined }));
    const code = (await program.login()).get("code")!;
    expect((await program.redeem(code, await prove({}, key))).status).toBe(200);
  });

  it.each([
    ["RS256", {}, 200],
    ["PS256", { token_endpoint_auth_signing_alg: "PS256" }, 200],
    ["PS256", {}, 401],
    ["RS256", { token_endpoint_auth_signing_alg: "PS256" }, 401],
    ["RS256", { token_endpoint_auth_signing_alg: "HS256" }, 200],
  ])(
    "proves itself by an RSA key with one algorithm: %s, where it says %j",
    async (alg, said, status) => {
      const key = await createKey("rsa", alg);
      const jwks = { keys: [{ ...key.jwk, alg: undefined }] };
      const { program, prove } = await setupKeyed(() => ({ jwks, jwks_uri: undefined, ...said }));
      const code = (await program.login()).get("code")!;
      expect((await program.redeem(code, await prove({}, key, { alg }))).status).toBe(status);
    },
  );

  it("is nobody without its key: a stolen code or refresh token is no use", async () => {
    const { program, prove, endpoint } = await setupKeyed();
    const stolen = (await program.login()).get("code")!;
    const refused = { status: 401, body: { error: "invalid_client" } };
    expect(await program.redeem(stolen)).toMatchObject(refused);
    const code = (await program.login()).get("code")!;
    const { body } = await program.redeem(code, await prove());
    expect(await program.refresh(body.refresh_token!)).toMatchObject(refused);
    const out = { token: body.refresh_token, client_id: program.id };
    expect(await program.post("/oauth/revoke", out)).toMatchObject(refused);
    expect((await ask(endpoint, body.access_token)).status).toBe(200);
    expect((await program.refresh(body.refresh_token!, await prove())).status).toBe(200);
  });

  it.each<[string, Record<string, unknown>]>([
    ["for another server", { aud: "https://evil.example" }],
    ["for several servers", { aud: ["$", "https://evil.example"] }],
    ["of another program", { iss: "https://evil.example/client.json" }],
    ["about another program", { sub: "https://evil.example/client.json" }],
    ["that has expired", { exp: 1 }],
    ["without an end", { exp: undefined }],
    ["for a day", { exp: Math.floor(Date.now() / 1_000) + 86_400 }],
    ["without a name", { jti: undefined }],
    ["from the future", { nbf: Math.floor(Date.now() / 1_000) + 3_600 }],
  ])("is not proven by an assertion %s", async (_what, claims) => {
    const { program, prove, url } = await setupKeyed();
    const own = JSON.parse(JSON.stringify(claims).replace("$", url)) as Record<string, unknown>;
    const given = Object.keys(own).length === 0 ? claims : own;
    const code = (await program.login()).get("code")!;
    const told = await program.redeem(code, await prove(given));
    expect(told).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    expect(told.body.access_token).toBeUndefined();
  });

  it("is proven by an assertion whose audience is a list of this server alone", async () => {
    const { program, prove, url } = await setupKeyed();
    const code = (await program.login()).get("code")!;
    const { status } = await program.redeem(code, await prove({ aud: [`${url}/oauth/token`] }));
    expect(status).toBe(200);
  });

  it("is proven by an assertion that counts for ten minutes and half a minute at most", async () => {
    const key = await createKey("first");
    const store = new GatewayStore(new MemoryDriver(), pino({ level: "silent" })).scope("tests");
    const issuer = "https://gateway.example";
    const assertions = new ClientAssertions({ issuer: () => issuer, used: store.kv("used") });
    const now = 1_800_000_000;
    const clock = vi.spyOn(Date, "now").mockReturnValue(now * 1_000);
    onTestFinished(() => clock.mockRestore());
    const check = async (life: number) => {
      const claims = { iss: "desk", sub: "desk", aud: issuer, exp: now + life, jti: randomUUID() };
      const signed = new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: key.kid });
      const keys = new KeySet(async () => ({ keys: [key.jwk] }), "RS256");
      await assertions.check("desk", await signed.sign(key.secret), keys);
    };
    await expect(check(630)).resolves.toBeUndefined();
    await expect(check(631)).rejects.toThrow("it counts for more than 10 minutes");
  });

  it("without a key is not proven by anybody's assertion", async () => {
    const { program, prove, url } = await setupKeyed();
    const other = new Program(url);
    await other.register();
    const code = (await other.login()).get("code")!;
    const told = await other.redeem(code, await prove({ iss: other.id, sub: other.id }));
    expect(told).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    expect(other.id).not.toBe(program.id);
    expect((await other.redeem(code)).status).toBe(200);
  });

  it("is not proven by a foreign key, by no signature, by a wrong type, or in two ways", async () => {
    const { program, prove, key } = await setupKeyed();
    const proof = await prove();
    const stranger = await createKey(key.kid);
    const [, claims] = proof.client_assertion.split(".");
    const none = Buffer.from('{"alg":"none"}').toString("base64url");
    const code = (await program.login()).get("code")!;
    for (const wrong of [
      await prove({}, stranger),
      { ...proof, client_assertion: `${none}.${claims}.` },
      { ...proof, client_assertion: "x" },
      { ...proof, client_assertion_type: "urn:other" },
      { ...proof, client_secret: "a secret" },
    ])
      expect((await program.redeem(code, wrong)).body.error).toBe("invalid_client");
    // None of them got as far as to use the code up.
    expect((await program.redeem(code, proof)).status).toBe(200);
  });

  it("is not proven by what its key signed for something else (RFC 8725 section 3.12)", async () => {
    const { program, prove, key } = await setupKeyed();
    const code = (await program.login()).get("code")!;
    for (const typ of ["dpop+jwt", "oauth-authz-req+jwt", "at+jwt", "logout+jwt"]) {
      const told = await program.redeem(code, await prove({}, key, { typ }));
      expect([typ, told.body.error]).toEqual([typ, "invalid_client"]);
    }
    const typ = "client-authentication+jwt";
    expect((await program.redeem(code, await prove({}, key, { typ }))).status).toBe(200);
  });

  it("uses each assertion once", async () => {
    const { program, prove } = await setupKeyed();
    const proof = await prove();
    const code = (await program.login()).get("code")!;
    const { body } = await program.redeem(code, proof);
    const again = await program.refresh(body.refresh_token!, proof);
    expect(again.body.error_description).toContain("it was used before");
    expect((await program.refresh(body.refresh_token!, await prove())).status).toBe(200);
  });

  it("may change its key", async () => {
    const { program, prove, set, paths } = await setupKeyed();
    const code = (await program.login()).get("code")!;
    await program.redeem(code, await prove());
    const next = await createKey("second");
    set.keys = [next.jwk];
    startClock()(31_000);
    const later = (await program.login()).get("code")!;
    expect((await program.redeem(later, await prove({}, next))).status).toBe(200);
    expect(paths.filter((path) => path === "/jwks")).toHaveLength(2);
  });

  it.each<[string, Record<string, unknown>]>([
    ["no keys", { jwks_uri: undefined }],
    ["keys in two places", { jwks: { keys: [] } }],
    ["keys over plain HTTP", { jwks_uri: "http://app.example/jwks" }],
    ["keys in a file", { jwks_uri: "file:///etc/passwd" }],
    // The host of the document is at localhost, and allowed by its name.
    ...INSIDE.filter((inside) => !/localhost/.test(inside)).map(
      (inside): [string, Record<string, unknown>] => [
        `keys at ${inside}`,
        { jwks_uri: `${inside}/jwks` },
      ],
    ),
  ])("whose document has %s logs nobody in", async (_what, change) => {
    const { program } = await setupKeyed(() => change);
    const page = await fetch(program.start(), { redirect: "manual" });
    expect([page.status, page.headers.get("location")]).toEqual([400, null]);
  });
});

it("a public program cannot be proven, and one that registered has no key", async () => {
  const { program, prove } = await setupKeyed(() => ({ token_endpoint_auth_method: "none" }));
  const code = (await program.login()).get("code")!;
  expect((await program.redeem(code, await prove())).body.error).toBe("invalid_client");
  expect((await program.redeem(code)).status).toBe(200);
  const registered = new Program(program.url);
  await registered.register();
  const own = (await registered.login()).get("code")!;
  expect((await registered.redeem(own, await prove())).body.error).toBe("invalid_client");
});
