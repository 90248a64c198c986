import { GatewayError } from "propylon";

/** Why a bearer is refused, and what its sender is told: no more than its holder may know. */
const MESSAGES = {
  unknown_token: "Invalid MCP token.",
  token_expired: "Invalid MCP token.",
  user_disabled: "User account is disabled.",
  malformed: "Invalid MCP token.",
  unknown_key: "Invalid MCP token.",
  bad_signature: "Invalid MCP token.",
  jwt_expired: "Token has expired.",
  unknown_issuer: "Invalid token issuer.",
  wrong_audience: "Invalid token audience.",
  invalid_claims: "Invalid MCP token.",
  unknown_team: "Invalid MCP token.",
  team_inactive: "Token has been deactivated.",
  stale_jti: "Invalid MCP token.",
  replayed: "Token replay detected.",
  wrong_password: "The name or password of the service account is wrong.",
} as const;

/** The closed list of reasons. */
export type RefusalReason = keyof typeof MESSAGES;
/** Every reason. */
export const REASONS = Object.keys(MESSAGES) as readonly RefusalReason[];

/** Why a bearer is refused that was valid once, or is valid for something else: nobody finds one by guessing. */
const PROVEN: ReadonlySet<RefusalReason> = new Set<RefusalReason>([
  "token_expired",
  "user_disabled",
  "jwt_expired",
  "unknown_issuer",
  "wrong_audience",
  "unknown_team",
  "team_inactive",
  "stale_jti",
  "replayed",
]);

/** Whether a bearer may be a guess. */
export function isGuess(reason: RefusalReason): boolean {
  return !PROVEN.has(reason);
}

/** A bearer that is ours and wrong. */
export class RefusedBearer extends Error {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason) {
    super(MESSAGES[reason]);
    this.reason = reason;
  }
}

/** What the sender of a refused bearer is told. */
export function refusalMessage(reason: RefusalReason): string {
  return MESSAGES[reason];
}

/** The tables cannot be read, so that nobody knows who may see what: nothing is open meanwhile. */
export function away(cause?: unknown): GatewayError {
  return new GatewayError("unavailable", "It cannot be checked now who may see what.", {
    cause,
    hint: "Try again in a few seconds; the operator finds the cause in the gateway's log.",
    headers: { "retry-after": "2" },
  });
}

/** @throws {GatewayError} `not_found` */
export function found<T>(row: T | undefined, what: string): T {
  if (row !== undefined) return row;
  throw new GatewayError("not_found", `There is no such ${what}.`, {
    hint: `List what there is: propylon team-auth ${what} list.`,
  });
}

/** @throws {GatewayError} `exists` */
export function taken(what: string): GatewayError {
  return new GatewayError("exists", `There is such a ${what} already.`, {
    hint: "Choose another name, or change the one that is there.",
  });
}
