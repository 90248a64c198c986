/** How often one request is sent to another place of its origin. */
export const MAX_REDIRECTS = 3;

/** Where a response leads; `undefined` where it leads nowhere. */
export function readRedirect(
  status: number,
  location: string | undefined,
  from: string,
): URL | undefined {
  if (status < 300 || status >= 400 || location === undefined) return undefined;
  return URL.canParse(location, from) ? new URL(location, from) : undefined;
}

/** Whether a request may be sent there as it is: only 307 and 308 keep its method (RFC 9110 section 15.4), and its credentials are for its origin. */
export function isFollowed(status: number, target: URL, from: string): boolean {
  return (status === 307 || status === 308) && target.origin === new URL(from).origin;
}
