const PLACE = /\{principal\.(ref|claims\.[\w-]+)\}/g;

/**
 * Whether a header value has places for what is known of the caller.
 *
 * @example hasTemplate("team {principal.claims.team}"); // true
 */
export function hasTemplate(value: string): boolean {
  return value.includes("{principal.");
}

/** Whether all that looks like a place is one. */
export function isTemplate(value: string): boolean {
  return !hasTemplate(value.replaceAll(PLACE, ""));
}

/**
 * Fills the places of a header value.
 *
 * @param valueOf what stands for `ref` or `claims.<name>`; what it throws is thrown
 * @example fillTemplate("team {principal.claims.team}", (name) => valueOf(principal, name));
 */
export function fillTemplate(value: string, valueOf: (name: string) => string): string {
  return value.replaceAll(PLACE, (_, name: string) => valueOf(name));
}
