import { GatewayError } from "propylon";
import { KEYS, JWT } from "propylon/internal";

/** One that knows people. */
interface Named {
  readonly name: string;
}

/**
 * Whether somebody else names people, too. Each then puts its own name in front of those of its people: a name that
 * somebody chooses at one issuer must not be a person of another.
 *
 * @param own name of the authenticator that asks
 * @param all authenticators of the gateway
 *
 * @example const isQualified = isCrowded("directory", gateway.info.describe().authenticators);
 */
export function isCrowded(own: string, all: readonly Named[]): boolean {
  return all.some(({ name }) => name !== own && name !== KEYS);
}

/**
 * The id of somebody whom an issuer knows as a subject, as one of several issuers.
 *
 * @example const id = qualifiedId("corp", "ada"); // corp:ada
 */
export function qualifiedId(issuer: string, subject: string): string {
  return `${issuer}:${subject}`;
}

/**
 * Whether the people of `auth.jwt` are known as `jwt:<sub>`.
 *
 * @example const isQualified = isJwtQualified(config.auth.jwt, gateway.info.describe().authenticators);
 *
 * @throws {GatewayError} `invalid` where the config wants plain names, and somebody else names people, too
 */
export function isJwtQualified(
  { qualify }: { readonly qualify?: boolean | undefined },
  all: readonly Named[],
): boolean {
  const crowd = isCrowded(JWT, all);
  if (qualify === false && crowd) throw notPlain(all);
  return qualify ?? crowd;
}

function notPlain(all: readonly Named[]): GatewayError {
  const other = all.find((each) => isCrowded(JWT, [each]))!;
  return new GatewayError("invalid", `auth.jwt has qualify: false beside ${other.name}.`, {
    hint: "Leave qualify out: a token whose sub is the name of somebody else would be that person.",
    data: { path: "auth.jwt.qualify" },
  });
}
