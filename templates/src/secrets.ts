/** A part of a text that looks like a secret. */
export interface Secret {
  readonly start: number;
  readonly end: number;
  /** What it is called where it stands, e.g. `api-key`. */
  readonly name: string;
}

/** Names of options, headers and query parameters whose values are secret. */
const SECRET_NAME =
  /(?:^|[-_. ])(?:(?:api|access|secret|private|auth)?[-_]?key|token|secret|password|passwd|pass|pwd|pat|auth|authorization|bearer|credentials?|sig|signature|code)$|(?:apikey|token|password|secret)$/i;

/** How well-known issuers begin theirs. */
const ISSUED =
  /^(?:sk|pk|rk|gh[opusr]|github_pat|glpat|xox[a-z]|AKIA|ASIA|AIza|ya29|eyJ|npm|hf|dop_v1|shpat|SG|ntn|secret|lin_api|tvly|fc|r8|gsk|xai|pplx|Bearer)[-_.A-Za-z0-9]/;

/**
 * Finds what looks like a secret in an argument or a URL. Rather once too often than once too few: what is found becomes a
 * variable, which does no harm.
 *
 * @param before the argument before it, e.g. `--token`
 */
export function findSecrets(text: string, before = ""): readonly Secret[] {
  const found = [...whole(text, before), ...assigned(text), ...inUrl(text), ...words(text)];
  const kept: Secret[] = [];
  for (const secret of found) {
    const overlaps = kept.some(({ start, end }) => secret.start < end && start < secret.end);
    if (!overlaps && secret.end > secret.start) kept.push(secret);
  }
  return kept.toSorted((left, right) => left.start - right.start);
}

/** `--token x`, `-e NAME=x`, `--header "Name: x"`. */
function whole(text: string, before: string): readonly Secret[] {
  const option = /^--?([\w.-]+)$/.exec(before)?.[1];
  if (option === undefined) return [];
  const named = /^([\w.-]+)(=|:\s*)([\s\S]+)$/.exec(text);
  const [, name = "", mark = "", value = ""] = named ?? [];
  if (value !== "" && /^(?:e|env|H|header|headers)$/.test(option))
    return [{ start: name.length + mark.length, end: text.length, name }];
  if (!SECRET_NAME.test(option) || text.startsWith("-")) return [];
  return [{ start: 0, end: text.length, name: option }];
}

/** `--api-key=x` and `API_KEY=x`. */
function assigned(text: string): readonly Secret[] {
  const [head = "", name = ""] = /^(?:--?)?([\w.-]+)(?:=|:\s*)/.exec(text) ?? [];
  if (!SECRET_NAME.test(name)) return [];
  return [{ start: head.length, end: text.length, name }];
}

/** The user and password of a URL, and what its query says of itself. */
function inUrl(text: string): readonly Secret[] {
  const users = [...text.matchAll(/:\/\/([^/\s?#]+)@/g)].map(({ index, 1: user = "" }) => ({
    start: index + 3,
    end: index + 3 + user.length,
    name: "user",
  }));
  const queries = [...text.matchAll(/[?&;#]([\w.-]+)=([^&;#\s]+)/g)]
    .filter(({ 1: name = "" }) => SECRET_NAME.test(name))
    .map(({ index, 0: { length }, 1: name = "", 2: value = "" }) => ({
      start: index + length - value.length,
      end: index + length,
      name,
    }));
  return [...users, ...queries];
}

/** Words that nobody thought up: issued ones, and long ones of letters and digits mixed. */
function words(text: string): readonly Secret[] {
  return [...text.matchAll(/[\w.~+-]{16,}/g)]
    .filter(([word]) => ISSUED.test(word) || isRandom(word))
    .map(({ index, 0: word }) => ({ start: index, end: index + word.length, name: "secret" }));
}

function isRandom(word: string): boolean {
  if (/^[0-9a-f-]{32,}$/i.test(word)) return true;
  const runs = word.match(/[a-z]+|[A-Z]+|[0-9]+/g) ?? [];
  return word.length >= 20 && runs.length >= 8 && /\d/.test(word) && /[A-Za-z]/.test(word);
}
