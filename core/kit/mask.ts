import { isPlainObject } from "./json.ts";
import { isSecretName, MASK, maskArguments, maskUrls, maskWords } from "./secret-text.ts";

/** Maps of which every value is a secret: they carry credentials under any name. */
const SECRET_MAPS: ReadonlySet<string> = new Set(["env", "headers"]);

/**
 * A config fit for showing: header values, env values, keys, passwords, arguments such as `--token x` or `-H x`, userinfo, query
 * and fragment of URLs are masked by where they stand, any other word that looks like a key by its looks, and every value that
 * came from a variable wherever it stands.
 *
 * @param secrets values taken from the environment
 */
export function maskConfig(config: unknown, secrets: Iterable<string> = []): unknown {
  const sorted = [...secrets]
    .filter((secret) => secret !== "")
    .toSorted((left, right) => right.length - left.length);
  const walk = (node: unknown, hide: boolean): unknown => {
    if (typeof node === "string") return hide ? MASK : maskWords(maskSecrets(node, sorted));
    if (Array.isArray(node))
      return hide || !isTexts(node)
        ? node.map((item) => walk(item, hide))
        : maskTexts(node, sorted);
    if (!isPlainObject(node)) return leaf(node, hide || isSecret(node, sorted));
    const entries = Object.entries(node).map(([key, value]) => [
      maskText(key, sorted),
      walk(value, hide || SECRET_MAPS.has(key) || isSecretName(key)),
    ]);
    return Object.fromEntries(entries) as Record<string, unknown>;
  };
  return walk(config, false);
}

function isTexts(list: readonly unknown[]): list is readonly string[] {
  return list.every((item) => typeof item === "string");
}

/** A list of texts may be a command line. */
function maskTexts(list: readonly string[], sorted: readonly string[]): string[] {
  return maskArguments(list.map((text) => maskSecrets(text, sorted)));
}

/** A number is a secret however the variable writes it, e.g. `007`. */
function isSecret(node: unknown, secrets: readonly string[]): boolean {
  if (typeof node !== "number") return secrets.includes(String(node));
  return secrets.some((secret) => Number(secret) === node);
}

function leaf(node: unknown, hide: boolean): unknown {
  if (typeof node === "function") return "[function]";
  return hide && node !== null && node !== undefined ? MASK : node;
}

/** A text without the given secrets, and without userinfo, query and keys in the path of URLs. */
export function maskText(text: string, secrets: Iterable<string>): string {
  return maskUrls(maskSecrets(text, secrets));
}

/**
 * A secret that makes up the whole text is masked at any length; inside a longer text only from four characters on, since masking
 * every `1` would hide nothing and garble all.
 */
function maskSecrets(text: string, secrets: Iterable<string>): string {
  let masked = text;
  for (const secret of secrets) {
    if (masked === secret) return MASK;
    if (secret.length >= 4) masked = masked.replaceAll(secret, MASK);
  }
  return masked;
}

/**
 * Secrets of an entry of `servers` that its server may repeat: all values of `env` and `headers`, and what of its arguments is
 * masked. The longest first, so that none is cut by another.
 */
export function secretsOfEntry(entry: unknown): readonly string[] {
  if (!isPlainObject(entry)) return [];
  const { env = {}, headers = {}, args = [] } = entry as ServerEntry;
  return [...Object.values(env), ...Object.values(headers), ...secretsOfArguments(args)]
    .map(String)
    .filter((value) => value !== "")
    .toSorted((a, b) => b.length - a.length);
}

interface ServerEntry {
  readonly env?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly args?: readonly string[];
}

/** Of an argument, what {@link maskArguments} shows as one mask. */
function secretsOfArguments(args: readonly string[]): readonly string[] {
  return maskArguments(args).flatMap((masked, index) => {
    const [before = "", after, ...more] = masked.split(MASK);
    if (after === undefined || more.length > 0) return [];
    return [args[index]!.slice(before.length, args[index]!.length - after.length)];
  });
}

/**
 * Hides in a server's own words the secrets that its entry of `servers` gave it, and whatever looks like one.
 *
 * @example
 * const mask = maskerOf(config);
 * log.warn({ text: mask(line) }, "no message of the protocol");
 */
export function maskerOf(entry: unknown): (text: string) => string {
  const secrets = secretsOfEntry(entry);
  return (text) => maskSaid(text, secrets);
}

/**
 * A server's own words without secrets, be they quoted as an error or shown as a line of its log.
 *
 * @param secrets what it knows and may repeat
 *
 * @example log.warn({ said: maskSaid(answer.error_description, [clientSecret]) }, "the provider refused");
 */
export function maskSaid(text: string, secrets: Iterable<string>): string {
  return maskWords(maskText(text, secrets));
}
