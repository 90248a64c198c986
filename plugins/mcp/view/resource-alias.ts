/** Begins a URI of a resource that says whose it is. */
const SCHEME = "propylon://";

/**
 * A URI that means a resource of one server, no matter who else has one of the same URI. What the server wrote stands in it as it
 * is, so that a template stays one.
 */
export function resourceAlias(server: string, uri: string): string {
  return `${SCHEME}${server}/${uri}`;
}

/** Whose resource an alias means, and its own URI; `undefined` for any other URI. */
export function readAlias(alias: string): { server: string; uri: string } | undefined {
  const slash = alias.indexOf("/", SCHEME.length);
  if (!alias.startsWith(SCHEME) || slash < 0) return undefined;
  return { server: alias.slice(SCHEME.length, slash), uri: alias.slice(slash + 1) };
}
