/** What stands in place of a secret. */
export const REDACTED = "[redacted]";

/** Ends of names whose values are secrets, without case and separators. */
const USUAL = [
  "password",
  "passwd",
  "passphrase",
  "pwd",
  "secret",
  "token",
  "apikey",
  "accesskey",
  "privatekey",
  "signingkey",
  "credential",
  "credentials",
  "authorization",
  "cookie",
];
/** Names are the callers' choice; what is remembered of them is not without bound. */
const MAX_REMEMBERED = 2_000;
/** A member of JSON text at one depth of quoting: its name, and a value that may be cut off or begins an object or array. */
const MEMBER =
  /(\\{0,15})"([^"\\]{1,100})\1"\s*:\s*(?:\1".*?(?:(?<!\\)\1"|$)|(?:-?[\d.eE+]+|true|false)|([[{]))/gs;

/** Knows which names and places hold secrets. */
export class Secrets {
  readonly #names: ReadonlySet<string>;
  readonly #paths: readonly (readonly string[])[];
  readonly #remembered = new Map<string, boolean>();

  /** @param more names, or paths with dots in which `*` is any one name */
  constructor(more: readonly string[]) {
    this.#names = new Set(more.filter((rule) => !rule.includes(".")).map(plain));
    this.#paths = more.filter((rule) => rule.includes(".")).map((rule) => rule.split("."));
  }

  /** Whether it matters where in a value something stands. */
  get hasPlaces(): boolean {
    return this.#paths.length > 0;
  }

  /** Whether the value under a name is a secret wherever it stands. */
  isName(name: string): boolean {
    let known = this.#remembered.get(name);
    if (known !== undefined) return known;
    const bare = plain(name);
    known = this.#names.has(bare) || USUAL.some((end) => bare.endsWith(end));
    if (this.#remembered.size < MAX_REMEMBERED && name.length < 100)
      this.#remembered.set(name, known);
    return known;
  }

  /** Whether the value at a place is a secret. */
  isPlace(path: readonly string[]): boolean {
    return this.#paths.some(
      (rule) =>
        rule.length === path.length && rule.every((part, at) => part === "*" || part === path[at]),
    );
  }

  /**
   * Takes secrets out of JSON text that may be cut off, and out of JSON that stands in it as text: what tools return is often
   * quoted once more.
   */
  mask(text: string): string {
    let end = text.length;
    const hide = (
      member: string,
      quote: string,
      name: string,
      open: string | undefined,
      at: number,
    ): string => {
      if (!this.isName(name)) return member;
      // Where an object that is a secret ends cannot be told from text that may be cut off.
      if (open !== undefined) end = Math.min(end, at);
      return `${quote}"${name}${quote}":${quote}"${REDACTED}${quote}"`;
    };
    const masked = text.replaceAll(MEMBER, hide);
    return end < text.length ? `${this.mask(text.slice(0, end))}${REDACTED}` : masked;
  }
}

/** A name without case and separators. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[-_.\s]/g, "");
}
