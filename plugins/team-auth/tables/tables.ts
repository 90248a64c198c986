import type { Kysely, Transaction } from "kysely";

/** What somebody may do with a library. */
export type MembershipRole = "owner" | "manager" | "reader";

/** Of a key: `signing` signs and verifies, `verifying` only verifies, `retired` does neither. */
export type KeyState = "signing" | "verifying" | "retired";

/** How a key signs; a key has one algorithm for life. */
export type KeyAlgorithm = "HS256" | "EdDSA";

/** What a token is for: `access` reads the libraries of the token, `admin` administrates for its user and reads none. */
export type TokenKind = "access" | "admin";

/** Truth values are 0 and 1, times are ISO 8601 in UTC: both databases have these, and so have people who look into them. */
export interface Tables {
  user: { id: string; name: string; active: number; created_at: string };
  library: { uid: string; name: string; workspace_id: string | null; created_at: string };
  membership: { user: string; library_uid: string; role: MembershipRole; created_at: string };
  token: {
    id: string;
    user: string;
    kind: TokenKind;
    name: string;
    /** The beginning of the token, for people who look for it. */
    prefix: string;
    /** SHA-256 in hex; the token itself is nowhere. */
    hash: string;
    active: number;
    expires_at: string | null;
    created_at: string;
    last_used_at: string | null;
    /** The token that took its place. */
    replaced_by: string | null;
  };
  token_library: { token: string; library_uid: string; position: number };
  team: {
    id: string;
    name: string;
    active: number;
    active_jti: string | null;
    /** The token before it, which counts until a time when it was replaced with a grace. */
    former_jti: string | null;
    former_until: string | null;
    owner: string | null;
    created_at: string;
    updated_at: string;
  };
  team_workspace: { team: string; workspace_id: string; created_at: string };
  signing_key: {
    kid: string;
    alg: KeyAlgorithm;
    /** Sealed: the HMAC secret in hex, or the private key as a JWK. */
    secret: string;
    public_jwk: string | null;
    state: KeyState;
    created_at: string;
    retired_at: string | null;
  };
  service_account: { name: string; password: string; active: number; created_at: string };
  replay: { jti: string; expires_at: string };
  audit: {
    seq: number | string;
    at: string;
    actor: string;
    action: string;
    target: string;
    details: string | null;
    correlation: string | null;
    prev: string;
    hash: string;
  };
  /** The ends of the audit's chain. */
  audit_end: { name: "head" | "base"; seq: number | string; hash: string };
  /** Numbers by name: the `epoch` of the last change, and up to which one the notes of changes were `trimmed`. */
  meta: { name: "epoch" | "trimmed"; value: number | string };
  /** What each epoch changed; written by triggers, so that a change by hand is noted like any other. */
  change: { epoch: number | string; kind: string; key: string };
  /** The gateways that answer for these tables, up to which epoch each has applied them, and when it said so, in seconds. */
  replica: { id: string; applied: number | string; renewed_at: number };
}

/** The tables, or a transaction of them. */
export type Database = Kysely<Tables>;
export type Trx = Transaction<Tables>;

/** Now, as the tables write it. */
export function timestamp(ms: number = Date.now()): string {
  return new Date(ms).toISOString();
}
