import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { definePlugin } from "../../../core/index.ts";
import type { PluginEntry } from "../../../core/testing/index.ts";
import sqlite from "../../../plugins/sqlite/index.ts";
import teamAuth from "../../../plugins/team-auth/index.ts";
import { fileStore } from "../team-auth/gateway-kit.ts";
import { exportJWK, SignJWT, UnsecuredJWT } from "jose";
import { describe, expect, it } from "vitest";
import { createIssuerKey, now, ScriptedIssuer } from "../../fixtures/issuer.ts";
import { ask, setupRig } from "./kit.ts";

const SCOPES = { "mcp:call": "caller", "mcp:operate": "operator" };

describe("a token of an issuer", () => {
  it("opens the endpoint that it is for, and names its subject", async () => {
    const { url, endpoint, sign } = await setupRig();
    expect((await ask(endpoint, await sign())).status).toBe(200);
    const root = await sign({ aud: [url, "other"] });
    expect((await ask(`${url}/who`, root)).body).toEqual({ ref: "user:ada" });
    expect((await ask(`${url}/who`, await sign({ aud: `${url}/` }))).status).toBe(200);
  });

  it("names its program where it has one", async () => {
    const claims = definePlugin({
      name: "claims",
      setup: (gateway) =>
        gateway.route(
          "GET",
          "/claims",
          { access: "principal", mutates: false },
          ({ context }) => context.principal.claims,
        ),
    });
    const { url, sign } = await setupRig({ plugins: [claims] });
    const claimsOf = async (more: object) =>
      (await ask(`${url}/claims`, await sign({ aud: url, ...more }))).body;
    expect(await claimsOf({ client_id: "desk" })).toMatchObject({ subject: "ada", client: "desk" });
    expect(await claimsOf({ azp: "tool" })).toMatchObject({ client: "tool" });
    expect(await claimsOf({ client_id: undefined })).not.toHaveProperty("client");
  });

  it("opens nothing that it is not for (RFC 8707)", async () => {
    const { url, endpoint, sign } = await setupRig({ options: { audiences: ["api://gateway"] } });
    const of = async (aud: unknown) => ask(endpoint, await sign({ aud }));
    for (const aud of [
      undefined,
      null,
      "",
      [],
      url,
      `${endpoint}/`,
      `${endpoint}?x`,
      `${url}/x/../mcp`,
      `${url}/./mcp`,
      `${url}/x/%2e%2e/mcp`,
      `${url}\\mcp`,
      endpoint.toUpperCase(),
      "https://other.example/mcp",
      [["api://gateway"]],
      { 0: endpoint },
      `${endpoint} api://gateway`,
      "*",
    ]) {
      const { status, challenge } = await of(aud);
      expect([JSON.stringify(aud), status]).toEqual([JSON.stringify(aud), 401]);
      expect(challenge).toContain('error="invalid_token"');
    }
    for (const aud of [endpoint, [endpoint], ["x", endpoint], "api://gateway"])
      expect((await of(aud)).status).toBe(200);
    // For the endpoint is not for the rest.
    expect((await ask(`${url}/who`, await sign())).status).toBe(401);
  });

  it("is refused where anything about it is wrong, with the same words", async () => {
    const { issuer, endpoint, sign } = await setupRig();
    const rsa = await createIssuerKey("rsa", "RS256");
    issuer.keys.push(rsa);
    const stranger = await createIssuerKey("first");
    const pem = String(rsa.publicKey.export({ type: "spki", format: "pem" }));
    const claims = { aud: endpoint };
    const jku = { jku: `${issuer.origin}/evil`, jwk: await exportJWK(stranger.publicKey) };
    const none = new UnsecuredJWT({ ...claims, iss: issuer.url, sub: "ada" })
      .setExpirationTime("1m")
      .encode();
    const [, body] = (await sign()).split(".");
    const headerOf = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const jwkText = JSON.stringify(rsa.jwk);
    const wrong: Record<string, string> = {
      "of another key": await issuer.sign(claims, {}, stranger.privateKey),
      "with a key in its header": await issuer.sign(claims, jku, stranger.privateKey),
      unsigned: none,
      "unsigned, with a signature": `${headerOf({ alg: "none" })}.${body}.AAAA`,
      "signed with the public key": await issuer.sign(
        claims,
        { alg: "HS256", kid: "rsa" },
        new TextEncoder().encode(pem),
      ),
      "signed with the public JWK": await issuer.sign(
        claims,
        { alg: "HS256", kid: "rsa" },
        new TextEncoder().encode(jwkText),
      ),
      "of an unknown kid": await issuer.sign(claims, { kid: "../../etc/passwd" }),
      "of a kid of another type": await issuer.sign(claims, { kid: "rsa" }),
      "of a kid that is no text": `${headerOf({ alg: "ES256", kid: { a: 1 } })}.${body}.AAAA`,
      "with a critical header": await new SignJWT({ ...claims, iss: issuer.url, sub: "ada" })
        .setExpirationTime("1m")
        .setProtectedHeader({ alg: "ES256", kid: "first" })
        .sign(issuer.keys[0]!.privateKey)
        .then((token) => {
          const [, rest, signature] = token.split(".");
          return `${headerOf({ alg: "ES256", kid: "first", crit: ["exp"], exp: 1 })}.${rest}.${signature}`;
        }),
      "without an end": await sign({ exp: undefined }),
      "with an end that is no number": await sign({ exp: "9999999999" }),
      "from the future": await sign({ nbf: now() + 60 }),
      "without a subject": await sign({ sub: undefined }),
      "with an empty subject": await sign({ sub: "" }),
      "with a subject that is no text": await sign({ sub: 7 }),
      "with a line break in its subject": await sign({ sub: "ada\nadmin" }),
      "with a long subject": await sign({ sub: "a".repeat(256) }),
    };
    for (const [what, token] of Object.entries(wrong)) {
      const told = await ask(endpoint, token);
      expect([what, told.status, told.body.error.message]).toEqual([
        what,
        401,
        "The token is not valid.",
      ]);
      expect(told.challenge).toContain('error="invalid_token"');
    }
    const expired = await ask(endpoint, await sign({ exp: now() - 31 }));
    expect([expired.status, expired.body.error.message]).toEqual([401, "The token has expired."]);
    expect((await ask(endpoint, await sign({ exp: now() - 25 }))).status).toBe(200);
    expect((await ask(endpoint, await sign({ exp: 1e300 }))).status).toBe(200);
    expect(issuer.visitsTo("/evil")).toEqual([]);
  });

  it("of nobody we know is refused without a word to anyone", async () => {
    const { issuer, endpoint } = await setupRig();
    const evil = await ScriptedIssuer.start();
    const before = issuer.visits.length;
    for (const token of [
      await evil.sign({ aud: endpoint }),
      await evil.sign({ aud: endpoint, iss: `${issuer.url}/` }),
      await evil.sign({ aud: endpoint, iss: undefined }),
      "opaque",
      "a.b.c",
      "..",
    ]) {
      const told = await ask(endpoint, token);
      expect([told.status, told.challenge]).toEqual([
        401,
        expect.stringContaining('error="invalid_token"'),
      ]);
    }
    expect(evil.visits).toEqual([]);
    expect(issuer.visits).toHaveLength(before);
  });

  it("that is forged at random opens nothing and breaks nothing", async () => {
    const { issuer, endpoint, sign } = await setupRig();
    const good = await sign();
    const b64 = fc
      .string({ unit: "binary", maxLength: 200 })
      .map((text) => Buffer.from(text).toString("base64url"));
    const json = fc
      .object({ maxDepth: 3 })
      .map((value) =>
        Buffer.from(JSON.stringify({ iss: issuer.url, ...value })).toString("base64url"),
      );
    const part = fc.oneof(b64, json);
    const made = fc.tuple(part, json, part).map((parts) => parts.join("."));
    const bent = fc
      .tuple(fc.nat(good.length - 1), fc.constantFrom("A", "Z", "a", "z", "0", "9", "-", "_", "."))
      .map(([at, char]) => `${good.slice(0, at)}${char}${good.slice(at + 1)}`)
      // The last character of a signature holds bits that nobody reads.
      .filter((token) => token.slice(0, -1) !== good.slice(0, -1));
    await fc.assert(
      fc.asyncProperty(fc.oneof(made, bent), async (token) => {
        expect((await ask(endpoint, token)).status).toBe(401);
      }),
      { numRuns: 300 },
    );
    expect((await ask(endpoint, good)).status).toBe(200);
  });
});

describe("scopes", () => {
  it("give roles, and what is missing is named (step-up)", async () => {
    const { url, endpoint, sign } = await setupRig({ options: { scopes: SCOPES } });
    const metadata = `resource_metadata="${url}/.well-known/oauth-protected-resource`;
    const none = await ask(endpoint, await sign({ scope: "openid profile" }));
    expect(none).toMatchObject({ status: 403, body: { error: { data: { code: "forbidden" } } } });
    expect(none.challenge).toBe(
      `Bearer error="insufficient_scope", ${metadata}/mcp", scope="mcp:call"`,
    );
    for (const claims of [{ scope: undefined }, { scope: "" }, { scope: ["x"] }, { scope: 7 }])
      expect((await ask(endpoint, await sign(claims))).status).toBe(403);
    for (const claims of [
      { scope: "openid mcp:call" },
      { scope: ["mcp:call"] },
      { scope: undefined, scp: ["mcp:call"] },
      { scope: undefined, scp: "openid mcp:operate" },
    ])
      expect((await ask(endpoint, await sign(claims))).status).toBe(200);
    const caller = await ask(`${url}/operate`, await sign({ aud: url }));
    expect(caller.status).toBe(403);
    expect(caller.challenge).toBe(
      `Bearer error="insufficient_scope", ${metadata}", scope="mcp:call mcp:operate"`,
    );
    const operator = await sign({ aud: url, scope: "mcp:operate" });
    expect((await ask(`${url}/operate`, operator)).status).toBe(200);
  });

  it("that count for less than a call are told what a call needs", async () => {
    const { endpoint, sign } = await setupRig({
      options: { scopes: { look: "viewer", call: "caller" } },
    });
    const told = await ask(endpoint, await sign({ scope: "look" }));
    expect([told.status, told.challenge]).toEqual([
      403,
      expect.stringContaining('scope="look call"'),
    ]);
  });

  it("do not matter to a public page, and neither does a wrong token", async () => {
    const { url, sign } = await setupRig({ options: { scopes: SCOPES } });
    for (const token of [await sign({ aud: url, scope: "x" }), await sign({ aud: "x" })])
      expect((await ask(`${url}/open`, token)).body).toEqual({ ref: "anonymous:anonymous" });
  });
});

describe("two issuers", () => {
  it("have two people of one name, and neither can take the other's", async () => {
    const issuers = [await ScriptedIssuer.start(), await ScriptedIssuer.start("/realms/b")];
    const [one, two] = issuers as [ScriptedIssuer, ScriptedIssuer];
    const { url } = await setupRig({
      issuer: one,
      options: { issuers: { one: { issuer: one.url }, two: { issuer: two.url } } },
    });
    const refOf = async (issuer: ScriptedIssuer, sub: string) => {
      const told = await ask(`${url}/who`, await issuer.sign({ aud: url, sub }));
      return told.body.ref ?? told.status;
    };
    expect(await refOf(one, "bob")).toBe("user:one:bob");
    expect(await refOf(two, "bob")).toBe("user:two:bob");
    expect(await refOf(two, "one:bob")).toBe("user:two:one:bob");
    // Its keys are its own, also under the other's name.
    const stolen = await two.sign({ aud: url, iss: one.url });
    expect((await ask(`${url}/who`, stolen)).status).toBe(401);
  });

  it("may keep the names of one as they are, which then cannot look like the other's", async () => {
    const [one, two] = [await ScriptedIssuer.start(), await ScriptedIssuer.start()];
    const { url } = await setupRig({
      issuer: one,
      options: { issuers: { one: { issuer: one.url, qualify: false }, two: { issuer: two.url } } },
    });
    const told = async (issuer: ScriptedIssuer, sub: string) =>
      ask(`${url}/who`, await issuer.sign({ aud: url, sub }));
    expect((await told(one, "bob")).body).toEqual({ ref: "user:bob" });
    expect((await told(two, "bob")).body).toEqual({ ref: "user:two:bob" });
    expect((await told(one, "two:bob")).status).toBe(401);
  });

  it("that could not be told apart are refused at the start", async () => {
    const { url } = await ScriptedIssuer.start();
    const plain = { qualify: false };
    const start = (issuers: Record<string, object>) => setupRig({ options: { issuers } });
    await expect(start({ a: { issuer: url }, b: { issuer: url } })).rejects.toThrow("Two issuers");
    await expect(
      start({ a: { issuer: url, ...plain }, b: { issuer: `${url}/b`, ...plain } }),
    ).rejects.toThrow("qualify: false");
    for (const issuer of ["http://id.example", "https://a:b@id.example", "https://id.example?x=1"])
      await expect(start({ a: { issuer } })).rejects.toThrow("issuer");
  });

  it("beside users of the gateway's own are none of these, and cannot be made to be", async () => {
    const plugins: PluginEntry[] = [sqlite, [teamAuth, { secretKeys: ["k".repeat(32)] }]];
    const { url, sign } = await setupRig({ plugins, config: { store: fileStore() } });
    const told = await ask(`${url}/who`, await sign({ aud: url, sub: "ada" }));
    expect(told.body).toEqual({ ref: "user:corp:ada" });
    const options = { issuers: { corp: { issuer: "https://id.example", qualify: false } } };
    const config = { store: fileStore() };
    await expect(setupRig({ plugins, config, options })).rejects.toThrow("qualify: false");
  });

  it("beside auth.jwt have people of their own too", async () => {
    const { url, sign } = await setupRig({
      config: { auth: { jwt: { secret: "a secret of at least 32 characters", issuer: "own" } } },
    });
    const own = await new SignJWT({ sub: "ada", iss: "own", role: "caller" })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime("1m")
      .sign(new TextEncoder().encode("a secret of at least 32 characters"));
    expect((await ask(`${url}/who`, own)).body).toEqual({ ref: "user:jwt:ada" });
    expect((await ask(`${url}/who`, await sign({ aud: url }))).body).toEqual({
      ref: "user:corp:ada",
    });
  });
});

it("a key of the gateway works beside, and is not shown to an issuer", async () => {
  const apiKey = "a key of sixteen characters";
  const { issuer, endpoint } = await setupRig({
    config: { auth: { apiKey: apiKey.replaceAll(" ", "-") } },
  });
  const before = issuer.visits.length;
  expect((await ask(endpoint, apiKey.replaceAll(" ", "-"))).status).toBe(200);
  expect(issuer.visits).toHaveLength(before);
});

it("a weak key of an issuer verifies nothing", async () => {
  const { issuer, endpoint, sign } = await setupRig();
  const weak = generateKeyPairSync("rsa", { modulusLength: 1_024 });
  issuer.otherKeys = [{ ...(await exportJWK(weak.publicKey)), kid: "weak", alg: "RS256" }];
  const [, body] = (await sign()).split(".");
  const head = Buffer.from('{"alg":"RS256","kid":"weak"}').toString("base64url");
  expect((await ask(endpoint, `${head}.${body}.AAAA`)).status).toBe(401);
});
