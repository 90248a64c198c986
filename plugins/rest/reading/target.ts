/** A placeholder, or what a request line does not take as it is (RFC 3986, 3.3 and 3.4). */
const OTHER = /\{[^{}]+\}|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]/gu;

/**
 * A path of a document as it stands in requests. A fragment tells operations of one address apart (AWS's documents) and belongs to
 * no request, and a path written for people may have spaces.
 */
export function toTarget(path: string): string {
  // Before another segment it is a character like others (Mastercard's `/send/#env/v1`).
  const hash = path.indexOf("#", path.lastIndexOf("/"));
  const before = hash === -1 ? path : path.slice(0, hash);
  return before.replaceAll(OTHER, (found) =>
    found.length > 2 ? found : encodeURIComponent(found.replace(/\p{Surrogate}/u, "\uFFFD")),
  );
}
