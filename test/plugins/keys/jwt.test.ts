import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, SignJWT, UnsecuredJWT } from "jose";
import { describe, expect, it, onTestFinished } from "vitest";
import { isOfKind, KeySet } from "../../../plugins/keys/index.ts";
import { createJwtVerifier, UnclaimedToken } from "../../../plugins/keys/jwt.ts";
import { configSchema } from "../../../core/index.ts";
import { startClock } from "../../fixtures/clock.ts";

const SECRET = "a secret of at least 32 characters";
const secret = new TextEncoder().encode(SECRET);
const now = (): number => Math.floor(Date.now() / 1_000);

/** One of another issuer is told as one of another key: nobody here knows it. */
const verifier = (jwt: object) => {
  const verify = createJwtVerifier(configSchema.parse({ auth: { jwt } }).auth.jwt!);
  return (token: string) => {
    const known = verify(token);
    if (known) return known;
    throw new UnclaimedToken();
  };
};

/** A token; `claims` override the usual ones, `undefined` leaves one out. */
function sign(
  claims: Record<string, unknown> = {},
  key: Uint8Array | KeyObject = secret,
  header: { alg: string; kid?: string } = { alg: "HS256" },
): Promise<string> {
  const payload = { sub: "ada", role: "admin", exp: now() + 60, ...claims };
  return new SignJWT(payload).setProtectedHeader(header).sign(key);
}

const refusal = async (verify: ReturnType<typeof verifier>, token: string): Promise<unknown> => {
  try {
    await verify(token);
    return "accepted";
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return `${code}: ${message}`;
  }
};
const INVALID = "unauthorized: The token is not valid.";

describe("a token", () => {
  it("M122: names its subject, and the roles of its claim that exist", async () => {
    const verify = verifier({ secret: SECRET });
    const roles = async (role: unknown) => [...(await verify(await sign({ role }))).roles];
    expect(await verify(await sign())).toEqual({
      id: "ada",
      kind: "user",
      ref: "user:ada",
      roles: new Set(["admin"]),
      expiresAt: expect.any(Number),
    });
    expect(await roles(["viewer", "operator", "root", 7])).toEqual(["viewer", "operator"]);
    for (const none of [undefined, null, "root", "Admin", "", {}, 1, [["admin"], {}]])
      expect(await roles(none), `role ${JSON.stringify(none)}`).toEqual([]);
    const other = verifier({ secret: SECRET, roleClaim: "groups" });
    expect([...(await other(await sign({ groups: ["caller"] }))).roles]).toEqual(["caller"]);
    const nested = verifier({ secret: SECRET, roleClaim: "realm_access.roles" });
    const inside = async (claims: Record<string, unknown>) => [
      ...(await nested(await sign(claims))).roles,
    ];
    expect(await inside({ realm_access: { roles: ["operator", "offline"] } })).toEqual([
      "operator",
    ]);
    expect(await inside({ "realm_access.roles": ["viewer"] })).toEqual(["viewer"]);
    for (const none of ["operator", ["operator"], { roles: { operator: true } }, null])
      expect(await inside({ realm_access: none, roles: ["operator"] })).toEqual([]);
    const proto = verifier({ secret: SECRET, roleClaim: "constructor" });
    expect([...(await proto(await sign())).roles]).toEqual([]);
  });

  it("must expire, may be 30 s late, and must not be from the future", async () => {
    const verify = verifier({ secret: SECRET });
    const of = async (claims: object) => refusal(verify, await sign({ ...claims }));
    expect(await of({ exp: now() - 20 })).toBe("accepted");
    expect(await of({ exp: now() - 40 })).toBe("unauthorized: The token has expired.");
    expect(await of({ exp: undefined })).toBe(INVALID);
    expect(await of({ nbf: now() + 20 })).toBe("accepted");
    expect(await of({ nbf: now() + 60 })).toBe(INVALID);
    for (const sub of [undefined, ""]) expect(await of({ sub })).toContain("unauthorized");
  });

  it.each([
    [undefined, true],
    ["JWT", true],
    ["at+jwt", true],
    ["application/at+jwt", true],
    ["logout+jwt", false],
    ["", false],
    [7, false],
    [null, false],
    [["at+jwt"], false],
  ])("whose typ is %j may be an access token: %s", (typ, expected) => {
    expect(isOfKind(typ, "at+jwt")).toBe(expected);
  });

  it("must be for us when issuer and audience are set", async () => {
    const verify = verifier({ secret: SECRET, issuer: "https://id.example", audience: "gateway" });
    const right = { iss: "https://id.example", aud: ["other", "gateway"] };
    expect(await refusal(verify, await sign(right))).toBe("accepted");
    for (const wrong of [{ iss: "https://evil.example" }, { aud: "other" }, { aud: undefined }])
      expect(await refusal(verify, await sign({ ...right, ...wrong }))).toBe(INVALID);
  });

  it("is refused under any algorithm but that of the key (RFC 8725 section 3.1)", async () => {
    const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const pem = pair.publicKey.export({ type: "spki", format: "pem" }).toString();
    const asymmetric = verifier({ publicKey: pem });
    const rsa = { alg: "RS256" };
    expect(await refusal(asymmetric, await sign({}, pair.privateKey, rsa))).toBe("accepted");
    const confused = await sign({}, new TextEncoder().encode(pem));
    const unsigned = new UnsecuredJWT({ sub: "ada", role: "admin" }).setExpirationTime("1m");
    const symmetric = verifier({ secret: SECRET });
    const [, body] = (await sign()).split(".");
    const none = Buffer.from('{"alg":"none"}').toString("base64url");
    for (const verify of [asymmetric, symmetric]) {
      expect(await refusal(verify, confused)).toBe(INVALID);
      expect(await refusal(verify, unsigned.encode())).toBe(INVALID);
      for (const forged of [`${none}.${body}.x`, "a.b.c", "..", `${none}..`])
        expect(await refusal(verify, forged), `token ${forged}`).toBe(INVALID);
    }
    expect(await refusal(symmetric, await sign({}, secret, { alg: "HS512" }))).toBe(INVALID);
    expect(await refusal(symmetric, await sign({}, new Uint8Array(32)))).toBe(INVALID);
  });

  it.each([
    ["ES256", () => generateKeyPairSync("ec", { namedCurve: "P-256" })],
    ["EdDSA", () => generateKeyPairSync("ed25519")],
  ] as const)("of %s is accepted with its public key", async (alg, generate) => {
    const { publicKey, privateKey } = generate();
    const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
    const verify = verifier({ publicKey: pem });
    expect(await refusal(verify, await sign({}, privateKey, { alg }))).toBe("accepted");
    expect(await refusal(verify, await sign())).toBe(INVALID);
  });

  it.each(["RS256", "PS384"] as const)("of an RSA key is accepted with %s alone", async (own) => {
    const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
    const verify = verifier({ publicKey: pem, ...(own !== "RS256" && { rsaAlgorithm: own }) });
    for (const alg of ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]) {
      const told = await refusal(verify, await sign({}, privateKey, { alg }));
      expect([alg, told]).toEqual([alg, alg === own ? "accepted" : INVALID]);
    }
  });

  it("is checked once: the second time the answer is there at once, and gone when the token is", async () => {
    const verify = verifier({ secret: SECRET });
    const token = await sign();
    expect(verify(token)).toBeInstanceOf(Promise);
    const principal = await verify(token);
    expect(verify(token)).toBe(principal);
    const dying = await sign({ exp: now() - 29 });
    await verify(dying);
    await expect.poll(() => refusal(verify, dying)).toContain("expired");
  });
});

describe("what cannot verify anything is refused with the config", () => {
  it("no source, two sources, no key, a private key", () => {
    const { privateKey } = generateKeyPairSync("ed25519");
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const one = "auth.jwt needs exactly one of secret, publicKey and jwks.";
    expect(() => verifier({})).toThrow(one);
    expect(() => verifier({ secret: SECRET, jwks: "https://id.example/keys" })).toThrow(one);
    for (const publicKey of ["nonsense", pem])
      expect(() => verifier({ publicKey })).toThrow("is not a usable public key.");
  });
});

describe("a key set", () => {
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });

  /** Serves a key set, counts who asks, and fails when it is told to. */
  async function serveKeys(first = 200) {
    let status = first;
    let asked = 0;
    const keys = [{ ...(await exportJWK(pair.publicKey)), kid: "one", alg: "ES256" }];
    const server = createServer((_req, res) => {
      asked++;
      res.writeHead(status, { "content-type": "application/json" });
      res.end(JSON.stringify({ keys }));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const fail = (): void => void (status = 503);
    /** Leaves a key of this name in place of the first. */
    const withdraw = (kid: string): void => void (keys[0] = { ...keys[0]!, kid });
    return { url: `http://127.0.0.1:${port}/jwks`, asked: () => asked, fail, withdraw };
  }

  it("is fetched once for many tokens", async () => {
    const { url, asked } = await serveKeys();
    const verify = verifier({ jwks: url });
    const header = { alg: "ES256", kid: "one" };
    for (const sub of ["ada", "grace", "edsger"])
      expect(await verify(await sign({ sub }, pair.privateKey, header))).toMatchObject({ id: sub });
    expect(asked()).toBe(1);
    const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    expect(await refusal(verify, await sign({}, stranger, header))).toBe(INVALID);
    const unknown = await sign({}, pair.privateKey, { alg: "ES256", kid: "two" });
    expect(await refusal(verify, unknown)).toBe(INVALID);
    expect(await refusal(verify, await sign())).toBe(INVALID);
  });

  it("that does not answer is not the caller's fault, and the address stays untold", async () => {
    const { url } = await serveKeys(500);
    const token = await sign({}, pair.privateKey, { alg: "ES256", kid: "one" });
    const told = await refusal(verifier({ jwks: url }), token);
    expect(told).toBe("upstream_error: The token cannot be checked at the moment.");
    const nobody = await refusal(verifier({ jwks: "http://127.0.0.1:1/jwks" }), token);
    expect(nobody).toBe(told);
  });

  it("ends what a key signed as soon as it is seen to be withdrawn, also for tokens that were checked", async () => {
    const passTime = startClock();
    const { url, withdraw } = await serveKeys();
    const verify = verifier({ jwks: url });
    const token = await sign({}, pair.privateKey, { alg: "ES256", kid: "one" });
    for (const _ of [1, 2]) expect(await refusal(verify, token)).toBe("accepted");
    withdraw("two");
    expect(await refusal(verify, token)).toBe("accepted");
    passTime(31_000);
    const other = await sign({}, pair.privateKey, { alg: "ES256", kid: "two" });
    for (const _ of [1, 2]) expect(await refusal(verify, other)).toBe("accepted");
    for (const _ of [1, 2]) expect(await refusal(verify, token)).toBe(INVALID);
  });

  it("counts as current at no moment with a key that its issuer has withdrawn", async () => {
    const passTime = startClock();
    const jwk = await exportJWK(pair.publicKey);
    const header = { alg: "ES256", kid: "one" };
    const input = { payload: "", signature: "" };
    for (let moment = 0; moment < 20; moment++) {
      const server = new EventEmitter();
      let kid = "one";
      const keys = new KeySet(() => {
        server.emit("asked");
        return Promise.resolve({ keys: [{ ...jwk, kid, alg: "ES256" }] });
      });
      await keys.find(header, input);
      kid = "two";
      passTime(31_000);
      const asked = once(server, "asked");
      const renewed = keys.find({ ...header, kid }, input);
      await asked;
      for (let turn = 0; turn < moment; turn++) await Promise.resolve();
      const isCurrent = keys.mark();
      const isFound = await keys.find(header, input).then(Boolean, () => false);
      await renewed;
      expect(isFound && isCurrent(), `after ${moment} microtasks`).toBe(false);
    }
  });

  it("is used for ten minutes while it is away, also for tokens that were checked", async () => {
    const passTime = startClock();
    const { url, fail } = await serveKeys();
    const verify = verifier({ jwks: url });
    const header = { alg: "ES256", kid: "one" };
    const [first, later] = await Promise.all(
      ["ada", "grace"].map((sub) => sign({ sub, exp: now() + 3_600 }, pair.privateKey, header)),
    );
    expect(await refusal(verify, first!)).toBe("accepted");
    fail();
    passTime(9 * 60_000);
    expect(await refusal(verify, later!)).toBe("accepted");
    passTime(66_000);
    expect(await refusal(verify, later!)).toMatch(/^upstream_error/);
  });
});
