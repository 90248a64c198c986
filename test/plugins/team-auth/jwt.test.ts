import { SignJWT } from "jose";
import { Registry } from "prom-client";
import { expect, it, onTestFinished, vi } from "vitest";
import { GatewayError } from "../../../core/index.ts";
import { registerMetrics } from "../../../plugins/team-auth/metrics.ts";
import { isGuess, REASONS } from "../../../plugins/team-auth/refusals.ts";
import { explainAccount } from "../../../plugins/team-auth/bearer/explain-account.ts";
import { type JwtRules, readJwtHead, verifyJwt } from "../../../plugins/team-auth/bearer/jwt.ts";
import { KOTTOS } from "./kit.ts";

const NOW = 1_800_000_000;
const SECRET = new TextEncoder().encode("a secret of the tests that is long enough");
const KEY = { kid: "k", alg: "HS256", key: SECRET } as never;
const RULES: JwtRules = {
  teamIssuer: "mnemosyne",
  perTurnIssuer: "daedalus",
  perTurnMaxAge: 600_000,
  audience: undefined,
};
const TURN = { iss: "daedalus", sub: "console", jti: "j", iat: NOW, exp: NOW + 600, libs: ["a"] };
const TEAM = {
  iss: "mnemosyne",
  typ: "team",
  sub: `team:${KOTTOS}`,
  jti: "j",
  iat: NOW - 900,
  exp: NOW + 600,
};

/** What a token with these claims says at {@link NOW}. */
async function read(claims: object, rules: Partial<JwtRules> = {}): Promise<unknown> {
  const clock = vi.spyOn(Date, "now").mockReturnValue(NOW * 1_000);
  onTestFinished(() => clock.mockRestore());
  const token = await new SignJWT({ ...claims }).setProtectedHeader({ alg: "HS256" }).sign(SECRET);
  return verifyJwt(token, KEY, { ...RULES, ...rules }).catch(
    ({ reason }: { reason: string }) => reason,
  );
}

it("a token counts until 30 s after its end, to the millisecond", async () => {
  const at = (exp: number) => read({ ...TEAM, exp });
  expect(await at(NOW - 29)).toEqual({
    kind: "team",
    team: KOTTOS,
    jti: "j",
    expiresAt: (NOW + 1) * 1_000,
  });
  expect(await at(NOW - 30)).toBe("jwt_expired");
});

it("a token begins 30 s before its iat and nbf at the latest, and ends behind its iat", async () => {
  for (const [claims, expected] of [
    [{ iat: NOW + 30 }, "turn"],
    [{ iat: NOW + 31 }, "invalid_claims"],
    [{ nbf: NOW + 30 }, "turn"],
    [{ nbf: NOW + 31 }, "invalid_claims"],
    [{ nbf: 0 }, "invalid_claims"],
    [{ iat: NOW + 10, exp: NOW + 9 }, "invalid_claims"],
    [{ iat: NOW + 10, exp: NOW + 10 }, "turn"],
  ] as const) {
    const said = await read({ ...TURN, ...claims });
    expect([claims, (said as { kind?: string }).kind ?? said]).toEqual([claims, expected]);
  }
});

it.each<[string, object, unknown]>([
  ["a life of ten minutes", {}, "turn"],
  ["a life of a second more", { exp: NOW + 601 }, "invalid_claims"],
  ["a subject of 200 characters", { sub: "s".repeat(200) }, "turn"],
  ["a longer subject", { sub: "s".repeat(201) }, "invalid_claims"],
  ["no jti", { jti: "" }, "invalid_claims"],
  ["a workspace", { ws: "w" }, "turn"],
  ["a workspace without a name", { ws: "" }, "invalid_claims"],
  ["1,000 libraries", { libs: Array.from({ length: 1_000 }, (_, at) => `l${at}`) }, "turn"],
  [
    "one library more",
    { libs: Array.from({ length: 1_001 }, (_, at) => `l${at}`) },
    "invalid_claims",
  ],
  ["libraries as a text", { libs: "a" }, "invalid_claims"],
  ["a library of 64 characters", { libs: ["x".repeat(64)] }, "turn"],
  ["a longer library", { libs: ["x".repeat(65)] }, "invalid_claims"],
  ["the type of a team", { typ: "team" }, "invalid_claims"],
])("a per-turn token with %s", async (_, claims, expected) => {
  const said = await read({ ...TURN, ...claims });
  expect((said as { kind?: string }).kind ?? said).toBe(expected);
});

it("each kind of token has its issuer", async () => {
  expect(await read({ ...TEAM, iss: "daedalus" })).toBe("invalid_claims");
  expect(await read({ ...TURN, iss: "mnemosyne" })).toBe("invalid_claims");
  expect(await read(TURN, { perTurnIssuer: undefined })).toBe("unknown_issuer");
  expect(await read({ ...TURN, iss: undefined }, { perTurnIssuer: undefined })).toBe(
    "unknown_issuer",
  );
  expect(await read(TURN, { audience: "a" })).toBe("wrong_audience");
  expect(await read({ ...TURN, aud: "a" }, { audience: "a" })).toMatchObject({ kind: "turn" });
});

it("what is not three parts with a JSON object in front is opaque", () => {
  const head = Buffer.from('{"alg":"HS256"}').toString("base64url");
  expect(readJwtHead(`${head}.a.b`)).toEqual({ alg: "HS256" });
  for (const token of ["", "a", "..", `${head}.a`, `${head}.a.b.c`, "W10.a.b", `.${head}.b`])
    expect([token, readJwtHead(token)]).toEqual([token, undefined]);
});

it("an account that cannot be looked up is told as that, and not as unknown", async () => {
  const failing = (code: "not_found" | "unavailable") => {
    const get = () => Promise.reject(new GatewayError(code, "No."));
    return { directory: { users: { get } }, replica: {} } as never;
  };
  expect(await explainAccount("user:ada", failing("not_found"))).toBeUndefined();
  await expect(explainAccount("user:ada", failing("unavailable"))).rejects.toMatchObject({
    code: "unavailable",
  });
});

it("what was good once, or is good for something else, is not a guess", () => {
  expect(REASONS.filter(isGuess)).toEqual([
    "unknown_token",
    "malformed",
    "unknown_key",
    "bad_signature",
    "invalid_claims",
    "wrong_password",
  ]);
});

it("refusals of every reason are counted from nothing on", async () => {
  const registry = new Registry();
  const count = registerMetrics(registry);
  const values = async () => {
    const { values: all } = await registry.getSingleMetric("mcp_auth_failures_total")!.get();
    return Object.fromEntries(all.map(({ labels, value }) => [labels["reason"], value]));
  };
  const nothing = Object.fromEntries(REASONS.map((reason) => [reason, 0]));
  expect(await values()).toEqual(nothing);
  count("jwt_expired");
  expect(await values()).toEqual({ ...nothing, jwt_expired: 1 });
});
