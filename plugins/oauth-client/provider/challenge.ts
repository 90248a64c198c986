/** What a server says in its `WWW-Authenticate` about the login that it wants (RFC 6750 section 3, RFC 9728 section 5.1). */
export interface LoginChallenge {
  readonly error?: string;
  /** Scopes that it wants. */
  readonly scopes?: readonly string[];
  /** Where its metadata are. */
  readonly metadata?: string;
}

/** Longest header that is looked at, in characters. */
const MAX_HEADER = 8_192;
/** Most scopes that are asked for. */
const MAX_SCOPES = 100;
/** RFC 9110 section 11.2: a name, and a token or a quoted string. */
const PARAMETER = /([a-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/gi;

/** Reads the Bearer challenge of a header; of several challenges the first that has one. */
export function readChallenge(header: string): LoginChallenge {
  const from = header.slice(0, MAX_HEADER).search(/(?:^|,\s*)bearer(?:\s|$)/i);
  if (from === -1) return {};
  const found = new Map<string, string>();
  for (const [, name, quoted, plain] of header.slice(from, MAX_HEADER).matchAll(PARAMETER)) {
    const key = name!.toLowerCase();
    if (!found.has(key)) found.set(key, plain ?? quoted!.replaceAll(/\\(.)/g, "$1"));
  }
  const [error, scope, metadata] = ["error", "scope", "resource_metadata"].map((key) =>
    found.get(key),
  );
  return {
    ...(error !== undefined && { error }),
    ...(scope !== undefined && { scopes: splitScopes(scope) }),
    ...(metadata !== undefined && { metadata }),
  };
}

/** The scopes of a text, each once. */
export function splitScopes(text: string): readonly string[] {
  return [...new Set(text.split(" ").filter((scope) => SCOPE.test(scope)))].slice(0, MAX_SCOPES);
}

/** Both, each once. */
export function unite(one: readonly string[], other: readonly string[]): readonly string[] {
  return [...new Set([...one, ...other])].slice(0, MAX_SCOPES);
}

/** RFC 6749 section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/;
