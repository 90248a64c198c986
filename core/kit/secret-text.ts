/** What stands in place of a secret. */
export const MASK = "***";

/** Names whose values are secrets whatever they hold, be they options of a config, variables, headers or flags. */
const SECRET_NAME =
  /(?:^|[-_.])(?:authorization|bearer|cookie|dsn|hash|pass(?:word|phrase|wd)?|pwd|secrets?|signature|tokens?|credentials?|api[-_]?keys?|private[-_]?keys?|access[-_]?keys?)$/i;
const SECRET_CAMEL =
  /(?:apiKey|privateKey|[aA]ccessKey(?:Id)?|[a-z](?:Token|Secret|Password|Passphrase|Credentials?))$/;

/** Words in the name of a flag that say the same; looser, since a flag is seldom anything else. */
const SECRET_FLAG =
  /(?:^|[-_.])(?:auth|creds?|headers?|jwt|keys?|login|pat|pin|session|sig|user)(?:$|[-_.])|(?:key|token|secret|password|passwd|passphrase|header)s?$/i;
/** Short flags that commonly take a credential: curl's and its imitators' `-H`, `-u`, `-k`, `-b`; `-p`, `-t`, `-s`, `-a`. */
const SHORT_FLAG = /^[-/][HkKubptTPsa]$/;
/** The same with its value behind it, as mysql has it: `-psecret`. */
const GLUED_FLAG = /^(-[HkKubptTPsa])([^-=:].*)$/s;
/** What begins like that and is one word: flags with one dash that are whole names, and several short ones together. */
const ONE_WORD =
  /^-(?:a(?:ddr(?:ess)?|ll|pi|uth|udio|pp)|b(?:ase|atch|ind|uild|inary)|k(?:ey|eep|eepalive|ind|ubeconfig)|p(?:ath|id|lain|lugin|ort|refix|retty|rint|rod|rofile|roject|rovider|roxy|ublic|ort-?file)|s(?:cript|erver|erve|ilent|kip|ocket|ource|sl|tart|tdio|tore|trict|tream|S[fLk]{0,3})|t(?:arget|cp|emp|est|i|imeout|itle|ls|ools?|race|ransport|t|ype)|u(?:dp|nix|nsafe|pdate|rl|ser)|token)$/;
/** Flags that take `NAME=value` for an environment. */
const ENVIRONMENT_FLAG = /^(?:-[eE]|--env(?:ironment)?)$/;
/** `--name=value`, and as Windows has it `/name:value` and `--name:value`. */
const JOINED = /^((?:--?|\/)[\w.-]+|[^=\s/:-][^=\s]*)(=)(.*)$|^((?:--?|\/)[\w.-]+)(:)(.*)$/s;
/** Names of variables, where a key may be part of a word: `PGPASSWORD`. */
const VARIABLE = /^[A-Z][A-Z0-9_]*$/;
/** What a short flag may stand before without a secret: another flag, a port, a file or package with its usual ending. */
const HARMLESS = /^(?:-.*|\d{1,5}|[\w./@-]+\.(?:[cm]?[jt]sx?|py|rb|ya?ml|json|toml))$/;

const URLS = /[a-z][a-z0-9+.-]{0,30}:\/\/[^\s"'<>`]+/gi;
const URL_PARTS = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/is;
const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/i;
const WORD = /[A-Za-z0-9+=_-]{8,}/g;
/** `Authorization: Bearer x`, `API_KEY=x`, `Bearer x`, wherever in a text. */
const NAMED =
  /((?:^|[^\w-])["']?([\w.-]{1,64})["']?\s*[:=]\s*["']?)((?:(?:bearer|basic|token)\s+)?[^\s"',;&]+)/gi;
/** Words of a shell, those in quotes as one. */
const SHELL_WORDS = /(?:'[^']*'|"[^"]*"|\S)+/g;
const SCHEME = /\b(bearer|basic)\s+[\w.~+/=-]+/gi;

/** Whether the value of an option, variable or header of this name is a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) || SECRET_CAMEL.test(name);
}

/**
 * Whether a word looks made by chance, as keys and tokens are: digits and letters in turn, or too long for a word. By its looks
 * alone, since a token in a path has neither name nor place that tells of it.
 */
function looksRandom(word: string): boolean {
  const whole = word.replaceAll(/[-_]/g, "");
  const runs = word.split(/[^A-Za-z0-9]+/);
  return runs.some((run) => isRandomRun(run)) || isMixed(whole) || UUID.test(word);
}

/** base64url has dashes of its own: kinds of characters change every few, in words at their ends. */
function isMixed(run: string): boolean {
  const changes = run.match(/[a-z](?![a-z])|[A-Z](?![A-Z])|\d(?!\d)/g)?.length ?? 0;
  return run.length >= 20 && changes * 4 >= run.length;
}

function isRandomRun(run: string): boolean {
  if (run.length < 8) return false;
  if (run.length >= 32) return true;
  const hasBoth = /\d/.test(run) && /[A-Za-z]/.test(run);
  const turns = run.match(/\d(?=[A-Za-z])|[A-Za-z](?=\d)/g)?.length ?? 0;
  if (turns >= 3 || (run.length >= 16 && (hasBoth || /^\d+$/.test(run)))) return true;
  if (run.length >= 12 && hasBoth && turns >= 2) return true;
  return run.length >= 20 && /[a-z][A-Z][a-z][A-Z]|[A-Z]{2}[a-z]+[A-Z]|[a-z][A-Z]{2}/.test(run);
}

/**
 * URLs in a text without userinfo, values of their query and fragment; segments of their path only where they look like keys.
 *
 * @param path whether segments of paths are looked at
 */
export function maskUrls(text: string, path = true): string {
  return text.replaceAll(URLS, (url) => {
    const [, scheme = "", authority = "", segments = "", query, fragment] =
      URL_PARTS.exec(url) ?? [];
    const shown = path ? segments.split("/").map(maskSegment).join("/") : segments;
    const host = authority.replace(/^.*@/s, `${MASK}@`);
    const values = query === undefined ? "" : `?${query.replaceAll(/[^&;]+/g, maskValue)}`;
    const end = fragment === undefined ? "" : `#${fragment === "" ? "" : MASK}`;
    return `${scheme}${host}${shown}${values}${end}`;
  });
}

function maskValue(pair: string): string {
  const at = pair.indexOf("=");
  return at === -1 ? MASK : `${pair.slice(0, at)}=${at === pair.length - 1 ? "" : MASK}`;
}

function maskSegment(segment: string): string {
  return looksRandom(segment.replaceAll(/%[0-9a-f]{2}/gi, "-")) ? MASK : segment;
}

/** A text of a config without what looks like a secret: parts of URLs, values behind telling names, words made by chance. */
export function maskWords(text: string): string {
  return maskUrls(text)
    .replaceAll(SCHEME, `$1 ${MASK}`)
    .replaceAll(NAMED, (match: string, before: string, name: string) =>
      isSecretName(name) ? `${before}${MASK}` : match,
    )
    .replaceAll(WORD, (word) => (looksRandom(word) ? MASK : word));
}

/** Arguments of a command without its secrets: what follows or is joined to flags that take one, and {@link maskWords}. */
export function maskArguments(args: readonly string[]): string[] {
  return args.map((word, index) => maskArgument(word, args[index - 1]));
}

function maskArgument(word: string, before: string | undefined): string {
  const flag = before !== undefined && maskGlued(before) === undefined ? before : undefined;
  if (flag !== undefined && takesSecret(flag, word)) return MASK;
  const masked = maskJoined(word, before) ?? maskGlued(word);
  if (masked !== undefined) return masked;
  // A shell's command line is one argument; its flags are words of that.
  const words = word.match(SHELL_WORDS) ?? [];
  return maskWords(words.length > 1 ? maskArguments(words).join(" ") : word);
}

/** `name=value` and `/name:value`. */
function maskJoined(word: string, before: string | undefined): string | undefined {
  const [, name, sign, value, slashed, colon, rest] = JOINED.exec(word) ?? [];
  const [flag, by, text] = name === undefined ? [slashed, colon, rest] : [name, sign, value];
  if (flag === undefined || text === undefined || text === "") return undefined;
  const isVariable = before !== undefined && ENVIRONMENT_FLAG.test(before);
  if (isVariable || isSecretName(flag)) return `${flag}${by}${MASK}`;
  if (ENVIRONMENT_FLAG.test(flag)) return `${flag}${by}${maskJoined(text, "-e") ?? MASK}`;
  const [, variable] = /^-[eE](\w+)$/.exec(flag) ?? [];
  const isTelling = /^[-/]/.test(flag) || VARIABLE.test(flag) ? isSecretFlag(flag) : false;
  if (variable !== undefined || isTelling || takesSecret(flag, text)) return `${flag}${by}${MASK}`;
  return undefined;
}

/** `-psecret`. What cannot be told from a word is hidden: a flag that is not shown harms nobody. */
function maskGlued(word: string): string | undefined {
  const [, flag, value] = GLUED_FLAG.exec(word) ?? [];
  if (flag === undefined || value === undefined || ONE_WORD.test(word)) return undefined;
  return takesSecret(flag, value) ? `${flag}${MASK}` : undefined;
}

function takesSecret(flag: string, value: string): boolean {
  if (SHORT_FLAG.test(flag)) return /^-[Hk]$/.test(flag) || !HARMLESS.test(value);
  return /^--?[^=:\s]{2,}$/.test(flag) && isSecretFlag(flag);
}

function isSecretFlag(flag: string): boolean {
  const name = flag.replace(/^(?:--?|\/)/, "");
  return isSecretName(name) || SECRET_FLAG.test(name);
}
