/**
 * Whether a text matches a pattern in which `*` stands for any run of characters. Linear in the text for each `*`,
 * with no regular expression made from what a user wrote.
 *
 * @example matchesWildcard("get_*", "get_health"); // true
 */
export function matchesWildcard(pattern: string, text: string): boolean {
  return matchesLiterals(pattern.split("*"), text);
}

/**
 * Whether a text consists of literals in order with anything in between. Linear: each literal is searched once from the end
 * of the previous one, so no pattern can be made to backtrack.
 *
 * @param literals at least one
 *
 * @example matchesLiterals(["search_", ""], "search_web"); // true: the literals of "search_*"
 */
export function matchesLiterals(literals: readonly string[], text: string): boolean {
  const first = literals[0]!;
  const last = literals[literals.length - 1]!;
  if (literals.length === 1) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const literal of literals.slice(1, -1)) {
    const found = text.indexOf(literal, at);
    if (found < 0) return false;
    at = found + literal.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
