import { isPlainObject } from "./environment.ts";

/** What stands in place of a secret. */
export const MASK = "***";

/** Names of options whose values are secrets whatever they hold. */
const SECRET_NAME =
  /(?:^|[-_.])(?:authorization|cookie|hash|pass(?:word|phrase)?|pwd|secrets?|tokens?|credentials?|api-?keys?|private-?keys?)$/i;
const SECRET_CAMEL =
  /(?:apiKey|privateKey|accessKey|[a-z](?:Token|Secret|Password|Passphrase|Credentials?))$/;
/** Maps of which every value is a secret: they carry credentials under any name. */
const SECRET_MAPS: ReadonlySet<string> = new Set(["env", "headers"]);
const USERINFO = /(?<=[a-z][a-z0-9+.-]*:\/\/)[^/?#\s@]+(?=@)/gi;

/**
 * What is no secret although it may come from a variable: clients see all of it, plugins work with it, and a `PORT` is not worth
 * hiding.
 */
const OPEN = /^(?:name|publicUrl|listeners\.[^.]+\.(?:host|port)|timeouts\.[^.]+)$/;

/**
 * The whole config of a gateway fit for showing, see {@link maskConfig}. Its name, its public URL, where it listens and how long
 * it waits are shown wherever they come from, without the userinfo of URLs.
 *
 * @param secrets values taken from the environment
 */
export function maskGatewayConfig(config: unknown, secrets: Iterable<string> = []): unknown {
  return restore(config, maskConfig(config, secrets), "");
}

function restore(node: unknown, masked: unknown, path: string): unknown {
  if (OPEN.test(path)) return typeof node === "string" ? maskText(node, []) : node;
  if (!isPlainObject(node) || !isPlainObject(masked)) return masked;
  const own = Object.entries(masked).map(([key, value]) => [
    key,
    Object.hasOwn(node, key)
      ? restore(node[key], value, path === "" ? key : `${path}.${key}`)
      : value,
  ]);
  return Object.fromEntries(own) as unknown;
}

/**
 * A config fit for showing: header values, env values, keys, passwords, arguments such as `--token x` and the userinfo of URLs
 * are masked, and so is every value that came from a variable, wherever it stands.
 *
 * @param secrets values taken from the environment
 */
export function maskConfig(config: unknown, secrets: Iterable<string> = []): unknown {
  const sorted = [...secrets]
    .filter((secret) => secret !== "")
    .toSorted((left, right) => right.length - left.length);
  const walk = (node: unknown, hide: boolean): unknown => {
    if (typeof node === "string") return hide ? MASK : maskText(node, sorted);
    if (Array.isArray(node))
      return node.map((item, index) => walk(maskFlag(item), hide || isSecretFlag(node[index - 1])));
    if (!isPlainObject(node)) return leaf(node, hide || sorted.includes(String(node)));
    const entries = Object.entries(node).map(([key, value]) => [
      maskText(key, sorted),
      walk(value, hide || isSecretName(key)),
    ]);
    return Object.fromEntries(entries) as Record<string, unknown>;
  };
  return walk(config, false);
}

function leaf(node: unknown, hide: boolean): unknown {
  if (typeof node === "function") return "[function]";
  return hide && node !== null && node !== undefined ? MASK : node;
}

/**
 * A text without the given secrets and without the userinfo of URLs. A secret that makes up the whole text is masked at any
 * length; inside a longer text only from four characters on, since masking every `1` would hide nothing and garble all.
 */
export function maskText(text: string, secrets: Iterable<string>): string {
  let masked = text.replaceAll(USERINFO, MASK);
  for (const secret of secrets) {
    if (masked === secret) return MASK;
    if (secret.length >= 4) masked = masked.replaceAll(secret, MASK);
  }
  return masked;
}

/** `--api-key=value`, as an argument of a server's command. */
function maskFlag(argument: unknown): unknown {
  const [, flag, name] = /^(--?([^=]+)=)/.exec(String(argument)) ?? [];
  return typeof argument === "string" && name !== undefined && isSecretName(name)
    ? `${flag}${MASK}`
    : argument;
}

/** `--api-key`, whose value is the next argument. */
function isSecretFlag(argument: unknown): boolean {
  return typeof argument === "string" && /^--?[^=]+$/.test(argument)
    ? isSecretName(argument.replace(/^--?/, ""))
    : false;
}

function isSecretName(key: string): boolean {
  return SECRET_MAPS.has(key) || SECRET_NAME.test(key) || SECRET_CAMEL.test(key);
}
