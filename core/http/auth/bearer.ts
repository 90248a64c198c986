/** What an `Authorization` header carries. */
export interface Bearer {
  readonly token: string;
  /** Whether it came as the password of Basic (RFC 7617). */
  readonly basic: boolean;
}

const FORM = /^(Bearer|Basic) +(\S+) *$/i;

/**
 * The token of an `Authorization` header: `Bearer`, or `Basic` with the key as password and any user, as mcpo takes it.
 * `undefined` for everything else.
 */
export function readBearer(authorization: string): Bearer | undefined {
  const [, scheme, value] = FORM.exec(authorization) ?? [];
  if (scheme === undefined || value === undefined) return undefined;
  if (scheme.toLowerCase() === "bearer") return { token: value, basic: false };
  const pair = Buffer.from(value, "base64").toString();
  const colon = pair.indexOf(":");
  return colon < 0 ? undefined : { token: pair.slice(colon + 1), basic: true };
}
