import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import { Program } from "../oauth/attempt.ts";
import { setupLogin } from "../oauth/kit.ts";
import { ask, setupRig, who } from "./kit.ts";

const SECRET = "a secret of at least 32 characters";
const config = { auth: { maxFailures: 10 } };

const secondsAgo = (seconds: number): number => Math.floor(Date.now() / 1_000) - seconds;

/** Sends one after the other; tells how often each status came. */
async function countOf(url: string, tokens: readonly string[]): Promise<Record<string, number>> {
  const count: Record<string, number> = {};
  for (const token of tokens) {
    const { status } = await ask(url, token);
    count[status] = (count[status] ?? 0) + 1;
  }
  return count;
}

/** Tokens of as many people. */
function manyOf(count: number, sign: (sub: string) => Promise<string>): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, (_, at) => sign(`person-${at}`)));
}

const forgedOf = (token: string): string => {
  const [head, body, signature = ""] = token.split(".");
  return [head, body, `${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`].join(".");
};

describe("bugs-rest 8: a token with a right signature is no guess", () => {
  it.each([
    ["that has expired", { exp: secondsAgo(3_600), iat: secondsAgo(7_200) }, 401],
    ["for somebody else", { aud: "https://other.example/mcp" }, 401],
    ["without a subject that can be named", { sub: "a\nb" }, 401],
    ["from the future", { nbf: secondsAgo(-3_600) }, 401],
    ["without a scope that counts", { scope: "other" }, 403],
  ])("%s: 14 people with one hold up nobody", async (_, claims, status) => {
    const { endpoint, sign } = await setupRig({
      config,
      options: { scopes: { "mcp:call": "caller" } },
    });
    const tokens = await manyOf(14, (sub) => sign({ sub, scope: "mcp:call", ...claims }));
    // The programs of these people try again and again.
    expect(await countOf(endpoint, [...tokens, ...tokens])).toEqual({ [status]: 28 });
    const fresh = await sign({ sub: "carol", scope: "mcp:call" });
    expect((await ask(endpoint, fresh)).status).toBe(200);
  });

  it("of auth.jwt, likewise", async () => {
    const jwt = { secret: SECRET, issuer: "own" };
    const { url } = await setupGateway({
      plugins: [who],
      config: { auth: { jwt, maxFailures: 10 } },
      client: false,
    });
    const sign = (sub: string, claims: object = {}, exp = "1m") =>
      new SignJWT({ sub, iss: "own", role: "caller", ...claims })
        .setProtectedHeader({ alg: "HS256" })
        .setExpirationTime(exp)
        .sign(new TextEncoder().encode(SECRET));
    const tokens = await manyOf(14, (sub) => sign(sub, {}, "1h ago"));
    expect(await countOf(`${url}/who`, [...tokens, ...tokens])).toEqual({ 401: 28 });
    expect((await ask(`${url}/who`, await sign("carol"))).status).toBe(200);
    // A guesser of keys is held up, and somebody with a fresh token at the same address is not.
    const keys = await manyOf(20, async (sub) => `${sub}-some-wrong-key`);
    expect(await countOf(`${url}/who`, keys)).toEqual({ 401: 10, 429: 10 });
    expect((await ask(`${url}/who`, await sign("dave"))).status).toBe(200);
  });

  it("of the gateway's own that was taken back, likewise", async () => {
    const { url, endpoint } = await setupLogin({ config });
    const program = new Program(url);
    const { access_token: token, refresh_token: refresh } = await program.tokens();
    await program.post("/oauth/revoke", { token: refresh, client_id: program.id });
    expect(
      await countOf(
        endpoint,
        Array.from({ length: 20 }, () => token!),
      ),
    ).toEqual({ 401: 20 });
    const other = await program.tokens();
    expect((await ask(endpoint, other.access_token)).status).toBe(200);
  });
});

describe("where too many credentials were wrong", () => {
  it("a token that is right gets in, and forged ones cost no more than some checks", async () => {
    const { endpoint, url, sign } = await setupRig({ config });
    const keys = await manyOf(12, async (sub) => `${sub}-some-wrong-key`);
    expect(await countOf(endpoint, keys)).toEqual({ 401: 10, 429: 2 });
    expect((await ask(endpoint, await sign({ sub: "carol" }))).status).toBe(200);
    const forged = await manyOf(300, async (sub) => forgedOf(await sign({ sub })));
    const start = performance.now();
    const statuses = await Promise.all(
      forged.map(async (token) => (await ask(`${url}/who`, token)).status),
    );
    const seconds = (performance.now() - start) / 1_000;
    const looked = statuses.filter((status) => status === 401).length;
    expect(looked).toBeGreaterThan(0);
    expect(looked).toBeLessThanOrEqual(20 + 20 * seconds);
    expect(statuses.filter((status) => status === 429)).toHaveLength(300 - looked);
  });

  it("forged ones alone are held up, and texts that an issuer is asked about", async () => {
    const { endpoint, sign, issuer } = await setupRig({ config });
    const forged = await manyOf(200, async (sub) => forgedOf(await sign({ sub })));
    const count = await countOf(endpoint, forged.slice(0, 10));
    expect(count).toEqual({ 401: 10 });
    const asked = await setupRig({
      config,
      issuer,
      isAsked: true,
      options: {
        issuers: {
          corp: {
            issuer: issuer.url,
            introspection: { clientId: "gateway", clientSecret: "x".repeat(20) },
          },
        },
      },
    });
    const texts = await manyOf(30, async (sub) => `${sub}-opaque-text`);
    expect(await countOf(asked.endpoint, texts)).toEqual({ 401: 10, 429: 20 });
    expect(await countOf(asked.endpoint, forged.slice(0, 20))).toEqual({ 429: 20 });
  });
});
