import { createHash, randomUUID } from "node:crypto";
import { CompactEncrypt, CompactSign, exportJWK } from "jose";
import { describe, expect, it } from "vitest";
import { configSchema } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { createIssuerKey, ScriptedIssuer } from "../../fixtures/issuer.ts";
import { ask, setupRig, who } from "./kit.ts";

/** A gateway that takes the tokens of an issuer, and what a good token says. */
interface Face {
  readonly issuer: ScriptedIssuer;
  /** Status of a request with a token. */
  readonly status: (token: string) => Promise<number>;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Starts one, before an issuer that a test made, with more options of the issuer. */
type Start = (made?: ScriptedIssuer, more?: object) => Promise<Face>;

const FACES: Readonly<Record<string, Start>> = {
  "oauth-resource": async (made, more) => {
    const { issuer, url } = await setupRig({
      ...(made && { issuer: made }),
      ...(more && { corp: more }),
    });
    return faceOf(issuer, url, { aud: url });
  },
  "auth.jwt": async (made, more) => {
    const issuer = made ?? (await ScriptedIssuer.start());
    const jwt = { jwks: `${issuer.url}/jwks`, issuer: issuer.url, audience: "gateway", ...more };
    const config = { auth: { jwt, maxFailures: 0 } };
    const { url } = await setupGateway({ plugins: [who], config, client: false });
    return faceOf(issuer, url, { aud: "gateway", role: "caller" });
  },
};

function faceOf(issuer: ScriptedIssuer, url: string, claims: Face["claims"]): Face {
  const status = async (token: string): Promise<number> => (await ask(`${url}/who`, token)).status;
  return { issuer, claims, status };
}

/** The claims of a good token, as bytes that a test may spoil. */
function textOf({ issuer, claims }: Face, more: object = {}): string {
  const exp = Math.floor(Date.now() / 1_000) + 60;
  return JSON.stringify({ iss: issuer.url, sub: "ada", exp, ...claims, ...more });
}

function signBytes({ issuer }: Face, bytes: Uint8Array): Promise<string> {
  const { alg, kid, privateKey } = issuer.keys[0]!;
  return new CompactSign(bytes).setProtectedHeader({ alg, kid }).sign(privateKey);
}

describe.each(Object.entries(FACES))("RFC 8725, at %s", (_name, start) => {
  it("3.1: a key is used with the algorithm that its set names, and with no other", async () => {
    const issuer = await ScriptedIssuer.start();
    const rsa = await createIssuerKey("rsa", "RS256");
    issuer.keys.push(rsa);
    const { claims, status } = await start(issuer);
    const sign = (alg: string): Promise<string> =>
      issuer.sign(claims, { alg, kid: "rsa" }, rsa.privateKey);
    expect(await status(await sign("RS256"))).toBe(200);
    for (const alg of ["RS384", "RS512", "PS256", "PS512"])
      expect([alg, await status(await sign(alg))]).toEqual([alg, 401]);
  });

  it.each([
    [{}, "RS256"],
    [{ rsaAlgorithm: "PS256" }, "PS256"],
  ])(
    "3.1: an RSA key whose set names no algorithm has one: with %j it is %s",
    async (more, own) => {
      const issuer = await ScriptedIssuer.start();
      const { privateKey, jwk } = await createIssuerKey("rsa", "RS256");
      issuer.otherKeys = [{ ...jwk, alg: undefined }];
      const { claims, status } = await start(issuer, more);
      for (const alg of ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]) {
        const token = await issuer.sign(claims, { alg, kid: "rsa" }, privateKey);
        expect([alg, await status(token)]).toEqual([alg, alg === own ? 200 : 401]);
      }
    },
  );

  it("3.3: a token is refused when any byte of its signature or header is changed", async () => {
    const { issuer, claims, status } = await start();
    const token = await issuer.sign(claims);
    expect(await status(token)).toBe(200);
    const [head, body, signature] = token.split(".") as [string, string, string];
    const bent = (text: string, at: number): string =>
      `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
    for (const at of [0, 20, 60])
      expect(await status(`${head}.${body}.${bent(signature, at)}`)).toBe(401);
    for (const wrong of [
      `${head}.${body}.`,
      `${head}.${body}`,
      `${head}.${bent(body, 9)}.${signature}`,
    ])
      expect(await status(wrong)).toBe(401);
  });

  it("3.3, 3.6: an encrypted or compressed token is not a signed one", async () => {
    const face = await start();
    const { issuer, status } = face;
    const key = issuer.keys[0]!;
    const inner = new TextEncoder().encode(await issuer.sign(face.claims));
    for (const header of [{}, { zip: "DEF" }]) {
      const made = new CompactEncrypt(inner);
      const whole = { alg: "ECDH-ES", enc: "A256GCM", kid: key.kid, cty: "JWT" };
      const token = await made.setProtectedHeader(whole).encrypt(key.publicKey);
      const [, ...rest] = token.split(".");
      const head = Buffer.from(JSON.stringify({ ...whole, ...header })).toString("base64url");
      for (const each of [token, [head, ...rest].join(".")]) expect(await status(each)).toBe(401);
    }
  });

  it("3.4: a point that is not on the curve is not a key", async () => {
    const issuer = await ScriptedIssuer.start();
    const { privateKey, jwk } = await createIssuerKey("off");
    issuer.otherKeys = [{ ...jwk, y: jwk.x }];
    const { claims, status } = await start(issuer);
    // The key set is wrong, and not the token: either answer refuses it.
    expect([401, 502]).toContain(
      await status(await issuer.sign(claims, { kid: "off" }, privateKey)),
    );
    expect(await status(await issuer.sign(claims))).toBe(200);
  });

  it("3.7: claims in another encoding than UTF-8 are refused", async () => {
    const face = await start();
    const good = textOf(face);
    expect(await face.status(await signBytes(face, Buffer.from(good)))).toBe(200);
    const latin = textOf(face, { sub: "josé" });
    for (const bytes of [
      Buffer.from(good, "utf16le"),
      Buffer.from(latin, "latin1"),
      Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(good, "utf16le")]),
      Buffer.concat([Buffer.from(good.slice(0, -1)), Buffer.from([0xc0, 0x80]), Buffer.from("}")]),
    ])
      expect(await face.status(await signBytes(face, bytes))).toBe(401);
  });

  it("3.8: a token of another issuer is refused, also with a key of ours", async () => {
    const { issuer, claims, status } = await start();
    const other = await ScriptedIssuer.start();
    for (const token of [
      await issuer.sign({ ...claims, iss: other.url }),
      await issuer.sign({ ...claims, iss: undefined }),
      await issuer.sign({ ...claims, iss: `${issuer.url}/` }),
      await issuer.sign({ ...claims, iss: [issuer.url] }),
      await other.sign({ ...claims, iss: issuer.url }),
    ])
      expect(await status(token)).toBe(401);
  });

  it("3.8: a token without a subject, or with one that is not text, is refused", async () => {
    const { issuer, claims, status } = await start();
    for (const sub of [undefined, null, "", 7, ["ada"], { ada: 1 }])
      expect([sub, await status(await issuer.sign({ ...claims, sub }))]).toEqual([sub, 401]);
  });

  it("3.9: a token for another audience, or for none, is refused", async () => {
    const { issuer, claims, status } = await start();
    for (const aud of [
      undefined,
      null,
      "",
      "another",
      [],
      ["another"],
      `${String(claims["aud"])}x`,
    ])
      expect([aud, await status(await issuer.sign({ ...claims, aud }))]).toEqual([aud, 401]);
    expect(await status(await issuer.sign({ ...claims, aud: ["another", claims["aud"]] }))).toBe(
      200,
    );
  });

  it("3.10: a header that brings or names a key is not followed", async () => {
    const { issuer, claims, status } = await start();
    const evil = await ScriptedIssuer.start();
    const stranger = await createIssuerKey("stranger");
    evil.keys = [stranger];
    const own = issuer.keys[0]!.kid;
    for (const header of [
      { jku: `${evil.url}/jwks` },
      { x5u: `${evil.url}/chain.pem` },
      { jwk: await exportJWK(stranger.publicKey) },
      { x5c: [stranger.publicKey.export({ type: "spki", format: "der" }).toString("base64")] },
      { kid: own },
      { kid: "' OR 1=1 --" },
      { kid: "*)(uid=*" },
      { kid: "../../../../dev/null" },
      { kid: "x".repeat(2_000) },
      { kid: "\u0000" },
    ])
      expect([
        header,
        await status(await issuer.sign(claims, header, stranger.privateKey)),
      ]).toEqual([header, 401]);
    expect(evil.visits).toEqual([]);
  });

  it("3.11, 3.12: a token that says that it is of another kind is refused", async () => {
    const { issuer, claims, status } = await start();
    const of = async (typ: unknown): Promise<number> =>
      status(await issuer.sign({ ...claims, jti: randomUUID() }, { typ }));
    for (const typ of [undefined, "JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt"])
      expect([typ, await of(typ)]).toEqual([typ, 200]);
    for (const typ of [
      "logout+jwt",
      "dpop+jwt",
      "secevent+jwt",
      "application/secevent+jwt",
      "oauth-authz-req+jwt",
      "token-introspection+jwt",
      "client-authentication+jwt",
      "JOSE",
      "",
    ])
      expect([typ, await of(typ)]).toEqual([typ, 401]);
  });

  it("3.12: an ID token is for its program, and opens nothing", async () => {
    const { issuer, claims, status } = await start();
    const at_hash = createHash("sha256").update("x").digest("base64url").slice(0, 22);
    const id = { ...claims, aud: "a-program", azp: "a-program", nonce: "n", at_hash };
    expect(await status(await issuer.sign(id, { typ: "JWT" }))).toBe(401);
  });
});

it("3.5: a secret that somebody could guess is refused with the config", () => {
  for (const secret of ["", "password", "x".repeat(31)])
    expect(configSchema.safeParse({ auth: { jwt: { secret } } }).success).toBe(false);
  expect(configSchema.safeParse({ auth: { jwt: { secret: "x".repeat(32) } } }).success).toBe(true);
});
