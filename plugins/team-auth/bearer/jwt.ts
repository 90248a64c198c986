import type { Json } from "propylon";
import { isObject, isWithinDepth } from "propylon/kit";
import { RefusedBearer } from "../refusals.ts";
import type { AccessSnapshot, VerifyingKey } from "./snapshot.ts";

/** How long after its end a token still counts: clocks differ. */
export const LEEWAY_MS = 30_000;
/** Longest `sub`, `jti` and `ws`, in characters. */
const MAX_CLAIM = 200;
const MAX_LIBRARIES = 1_000;
const MAX_LIBRARY = 64;
const MAX_DEPTH = 16;
const TEAM = /^team:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** How tokens are checked. */
export interface JwtRules {
  readonly teamIssuer: string;
  /** `undefined`: there are no per-turn tokens. */
  readonly perTurnIssuer: string | undefined;
  /** Longest life of a per-turn token, in milliseconds. */
  readonly perTurnMaxAge: number;
  /** `undefined`: `aud` is not looked at. */
  readonly audience: string | undefined;
}

/** A team token that is genuine; whether it counts is the team's to say. */
export interface TeamClaims {
  readonly kind: "team";
  readonly team: string;
  readonly jti: string;
  readonly expiresAt: number;
}

/** A per-turn token that is genuine; whether it was used before is not known yet. */
export interface TurnClaims {
  readonly kind: "turn";
  readonly subject: string;
  readonly workspace: string | undefined;
  readonly jti: string;
  readonly expiresAt: number;
  readonly libraries: readonly string[];
}

/** The head of a token with three parts whose first is a JSON object; everything else is opaque. */
export function readJwtHead(token: string): Json | undefined {
  const end = token.indexOf(".");
  if (end < 0 || token.split(".").length !== 3) return undefined;
  return readObject(token.slice(0, end));
}

/** @returns `undefined` for a key that is not ours, or no longer */
export function verifyingKeyOf(head: Json, { keys }: AccessSnapshot): VerifyingKey | undefined {
  return typeof head["kid"] === "string" ? keys.get(head["kid"]) : undefined;
}

/**
 * What a token says, in the order of its checks: signature, end, issuer, audience, claims.
 *
 * @throws {RefusedBearer}
 */
export async function verifyJwt(
  token: string,
  key: VerifyingKey,
  rules: JwtRules,
): Promise<TeamClaims | TurnClaims> {
  const { compactVerify, errors } = await import("jose");
  // One token has one text: base64url can write the last bits of a signature in several ways (RFC 4648 section 3.5).
  const signature = token.slice(token.lastIndexOf(".") + 1);
  if (Buffer.from(signature, "base64url").toString("base64url") !== signature)
    throw new RefusedBearer("bad_signature");
  try {
    // The algorithm is the key's: one that the token names could make a public key a secret (RFC 8725 section 3.1).
    await compactVerify(token, key.key, { algorithms: [key.alg] });
  } catch (error) {
    if (error instanceof errors.JOSEError) throw new RefusedBearer("bad_signature");
    throw error;
  }
  const claims = readObject(token.split(".")[1]!);
  if (!claims) throw new RefusedBearer("malformed");
  return checkClaims(claims, rules);
}

function checkClaims(claims: Json, rules: JwtRules): TeamClaims | TurnClaims {
  const { exp, iss } = claims;
  const now = Date.now();
  if (!isTime(exp)) throw new RefusedBearer("invalid_claims");
  const expiresAt = exp * 1_000 + LEEWAY_MS;
  if (expiresAt <= now) throw new RefusedBearer("jwt_expired");
  const isPerTurn = rules.perTurnIssuer !== undefined && iss === rules.perTurnIssuer;
  if (iss !== rules.teamIssuer && !isPerTurn) throw new RefusedBearer("unknown_issuer");
  if (rules.audience !== undefined && ![claims["aud"]].flat().includes(rules.audience))
    throw new RefusedBearer("wrong_audience");
  checkBeginning(claims, exp, now);
  // Each kind has its issuer: who mints one must not be able to mint the other.
  if (claims["typ"] === "team" && iss === rules.teamIssuer) return readTeam(claims, expiresAt);
  if (claims["typ"] === undefined && isPerTurn) return readTurn(claims, expiresAt, rules);
  throw new RefusedBearer("invalid_claims");
}

function checkBeginning({ iat, nbf }: Json, exp: number, now: number): void {
  const isLater = (at: unknown): boolean => isTime(at) && at * 1_000 > now + LEEWAY_MS;
  const isWrong = !isTime(iat) || iat > exp || isLater(iat);
  if (isWrong || (nbf !== undefined && (!isTime(nbf) || isLater(nbf))))
    throw new RefusedBearer("invalid_claims");
}

function readTeam({ sub, jti }: Json, expiresAt: number): TeamClaims {
  const team = isText(sub) ? TEAM.exec(sub)?.[1]?.toLowerCase() : undefined;
  if (team === undefined || !isText(jti)) throw new RefusedBearer("invalid_claims");
  return { kind: "team", team, jti, expiresAt };
}

function readTurn(claims: Json, expiresAt: number, { perTurnMaxAge }: JwtRules): TurnClaims {
  const { sub, jti, ws, iat, exp, libs } = claims;
  const isTooLong = ((exp as number) - (iat as number)) * 1_000 > perTurnMaxAge;
  if (isTooLong || !isText(sub) || !isText(jti) || !(ws === undefined || isText(ws)))
    throw new RefusedBearer("invalid_claims");
  // Whatever else stands there, it never means all of them.
  if (!Array.isArray(libs) || libs.length > MAX_LIBRARIES || !libs.every(isLibrary))
    throw new RefusedBearer("invalid_claims");
  const libraries = Object.freeze([...new Set(libs)]);
  return { kind: "turn", subject: sub, workspace: ws, jti, expiresAt, libraries };
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(Math.trunc(value)) && value > 0;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_CLAIM;
}

function isLibrary(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_LIBRARY;
}

function readObject(part: string): Json | undefined {
  try {
    const bytes = Buffer.from(part, "base64url");
    if (!isWithinDepth(bytes, MAX_DEPTH)) return undefined;
    const value: unknown = JSON.parse(bytes.toString());
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
