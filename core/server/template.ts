import { GatewayError } from "../kit/errors.ts";

/** A compiled resource template. */
export interface UriTemplate {
  readonly variables: readonly string[];
  /** Values of the variables when the URI is an expansion of the template, percent-decoded. */
  match(uri: string): Record<string, string> | undefined;
}

/**
 * Compiles a URI template of RFC 6570 level 1: literals and `{name}`. A value is never empty and holds no `/`.
 * Matching is linear in the URI: no regular expression is made from the template (CVE-2026-0621).
 *
 * @throws {GatewayError} `invalid` for operators, unbalanced braces, or two variables without a literal between them
 */
export function compileTemplate(template: string): UriTemplate {
  const literals: string[] = [];
  const variables: string[] = [];
  let from = 0;
  for (let open = template.indexOf("{"); open >= 0; open = template.indexOf("{", from)) {
    const close = template.indexOf("}", open);
    const name = template.slice(open + 1, Math.max(close, open + 1));
    if (!/^\w+$/.test(name))
      throw new GatewayError(
        "invalid",
        `Resource template "${template}": only {name} expressions are supported.`,
      );
    if (open === from && from > 0)
      throw new GatewayError(
        "invalid",
        `Resource template "${template}": put a literal between two variables.`,
      );
    literals.push(template.slice(from, open));
    variables.push(name);
    from = close + 1;
  }
  literals.push(template.slice(from));
  return { variables, match: (uri) => matchLiterals(literals, variables, uri) };
}

function matchLiterals(
  literals: readonly string[],
  variables: readonly string[],
  uri: string,
): Record<string, string> | undefined {
  if (!uri.startsWith(literals[0]!)) return undefined;
  const values: Record<string, string> = {};
  let from = literals[0]!.length;
  for (const [index, variable] of variables.entries()) {
    const literal = literals[index + 1]!;
    const isLast = index === variables.length - 1;
    // The last literal must end the URI; any other ends its variable at the first occurrence.
    const end = isLast
      ? uri.endsWith(literal)
        ? uri.length - literal.length
        : -1
      : uri.indexOf(literal, from + 1);
    const value = end > from ? decode(uri.slice(from, end)) : undefined;
    if (value === undefined) return undefined;
    values[variable] = value;
    from = end + literal.length;
  }
  return from === uri.length ? values : undefined;
}

function decode(raw: string): string | undefined {
  if (raw.includes("/")) return undefined;
  try {
    return decodeURIComponent(raw);
  } catch {
    return undefined;
  }
}
