import { createPrivateKey, type JsonWebKey, type KeyObject } from "node:crypto";
import type { Tables } from "../tables/tables.ts";

/** What tokens are called by those who issue them. */
export interface Issuers {
  /** `iss` of team tokens. */
  readonly team: string;
  /** `aud` of team tokens. */
  readonly audience: string;
}

/** A team's token lives for so many calendar years. */
const YEARS = 10;

/** The token of a team; its holder sees what the team sees, as long as `jti` is the team's. */
export async function signTeamJwt(
  key: Pick<Tables["signing_key"], "kid" | "alg" | "secret">,
  { team, audience }: Issuers,
  subject: { readonly id: string; readonly jti: string },
): Promise<string> {
  const { SignJWT } = await import("jose");
  const issuedAt = new Date(Math.floor(Date.now() / 1_000) * 1_000);
  return new SignJWT({ typ: "team" })
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: "JWT" })
    .setIssuer(team)
    .setAudience(audience)
    .setSubject(`team:${subject.id}`)
    .setJti(subject.jti)
    .setIssuedAt(issuedAt)
    .setExpirationTime(yearsAfter(issuedAt))
    .sign(signingKeyOf(key));
}

/** What signs with a key: the hexadecimal text of a secret is the secret, as its source has it. */
function signingKeyOf({
  alg,
  secret,
}: Pick<Tables["signing_key"], "alg" | "secret">): KeyObject | Uint8Array {
  if (alg === "HS256") return new TextEncoder().encode(secret);
  return createPrivateKey({ key: JSON.parse(secret) as JsonWebKey, format: "jwk" });
}

function yearsAfter(date: Date): Date {
  const end = new Date(date);
  end.setUTCFullYear(end.getUTCFullYear() + YEARS);
  return end;
}
