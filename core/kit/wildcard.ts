/**
 * Whether a text matches a pattern in which `*` stands for any run of characters. Linear in the text for each `*`,
 * with no regular expression made from what a user wrote.
 *
 * @example matchesWildcard("get_*", "get_health"); // true
 */
export function matchesWildcard(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return pattern === text;
  const last = rest.pop()!;
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length)
    return false;
  let from = first.length;
  const end = text.length - last.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}
