import type { ConfigLayer, Part } from "../config/config.ts";
import type { ConfigPath } from "../config/issue.ts";

/** How a language writes what the scanner looks for. */
interface Language {
  /** White space, comments and commas between values. */
  readonly between: RegExp;
  /** A text in quotes. */
  readonly text: RegExp;
  /** A value or a key without quotes. */
  readonly bare: RegExp;
}

const JSON5: Language = {
  between: /(?:[\s,\uFEFF]+|\/\/.*|\/\*[^]*?\*\/)*/y,
  text: /"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'/y,
  bare: /[^\s,:{}[\]"'/]+/y,
};

const TOML: Language = {
  between: /(?:[\s,\uFEFF]+|#.*)*/y,
  text: /"""(?:[^\\]|\\[^])*?"""+|'''[^]*?'''+|"(?:[^"\\]|\\.)*"|'[^']*'/y,
  bare: /[^\s,=.{}[\]"'#]+/y,
};

/** A value without quotes in TOML, where dots and a blank may be part of it: `3.14`, `1979-05-27 07:32:00`. */
const TOML_VALUE = /[^\s,{}[\]"'#]+(?: \d[\d:.]*(?:Z|[+-][\d:]+)?)?/y;

/** Where the values of a text stand, and the keys that are there twice. */
export interface ScannedText {
  readonly root: Part;
  /** Offsets. */
  readonly doubled: readonly number[];
}

/**
 * Finds where the values of a text stand that a parser has accepted: parsers of JSON5 and TOML hand out values without their place.
 * What it does not find has the place of what it stands in.
 */
export class PartScanner {
  readonly #text: string;
  readonly #language: Language;
  readonly #layer: ConfigLayer;
  readonly #doubled: number[] = [];
  #at = 0;

  private constructor(text: string, language: Language, layer: ConfigLayer) {
    this.#text = text;
    this.#language = language;
    this.#layer = layer;
  }

  static scanJson5(text: string, layer: ConfigLayer): ScannedText {
    const scanner = new PartScanner(text, JSON5, layer);
    scanner.#skip();
    return { root: scanner.#value([], undefined), doubled: scanner.#doubled };
  }

  static scanToml(text: string, layer: ConfigLayer): ScannedText {
    const scanner = new PartScanner(text, TOML, layer);
    return { root: scanner.#tables(), doubled: [] };
  }

  /** The lines of a TOML file: `[table]`, `[[item of a list]]`, and keys with their values. */
  #tables(): Part {
    const root = this.#part([], undefined, 0);
    let table = root;
    for (this.#skip(); this.#at < this.#text.length; this.#skip()) {
      const start = this.#at;
      const brackets = this.#take(/\[{1,2}/y);
      if (brackets === "") {
        this.#entry(table);
      } else {
        table = this.#tableOf(root, brackets === "[[", start);
        this.#take(/[ \t]*\]{1,2}/y);
      }
      if (this.#at === start) break;
    }
    return root;
  }

  #tableOf(root: Part, isItem: boolean, start: number): Part {
    const keys = this.#keys().map(({ name }) => name);
    const last = keys.pop()!;
    const owner = keys.reduce((part, key) => this.#lastItem(this.#below(part, key, start)), root);
    const table = this.#below(owner, last, start);
    return isItem ? this.#below(table, table.parts.size, start) : table;
  }

  /** A key of a table stands in the last item of a list of tables. */
  #lastItem(part: Part): Part {
    const index = part.parts.size - 1;
    return (index >= 0 && this.#isList(part) && part.parts.get(String(index))) || part;
  }

  #isList(part: Part): boolean {
    const [first] = part.parts.values();
    return typeof first?.written.at(-1) === "number";
  }

  /** The part below another one, made if it is not there. */
  #below(part: Part, key: string | number, at: number): Part {
    const known = part.parts.get(String(key));
    if (known) return known;
    const made = this.#part([...part.written, key], at, at);
    part.parts.set(String(key), made);
    return made;
  }

  /** A key and its value. */
  #entry(owner: Part): void {
    const keys = this.#keys();
    const last = keys.pop();
    if (last === undefined) return;
    const parent = keys.reduce((part, { name, at }) => this.#below(part, name, at), owner);
    this.#skip();
    this.#take(/[:=]/y);
    this.#skip();
    if (parent.parts.has(last.name)) this.#doubled.push(last.at);
    parent.parts.set(last.name, this.#value([...parent.written, last.name], last.at));
  }

  /** A key, or several with dots between them. */
  #keys(): { name: string; at: number }[] {
    const found: { name: string; at: number }[] = [];
    do {
      this.#take(/[ \t]*/y);
      const at = this.#at;
      const text = this.#take(this.#language.text);
      const name = text === "" ? this.#take(this.#language.bare) : unquote(text);
      if (this.#at === at) break;
      found.push({ name, at });
      this.#take(/[ \t]*/y);
    } while (this.#language === TOML && this.#take(/\./y) !== "");
    return found;
  }

  #value(written: ConfigPath, key: number | undefined): Part {
    const part = this.#part(written, key, this.#at);
    const opening = this.#take(/[{[]/y);
    if (opening === "") {
      const bare = this.#language === TOML ? TOML_VALUE : this.#language.bare;
      if (this.#take(this.#language.text) === "") this.#take(bare);
      return part;
    }
    for (this.#skip(); this.#at < this.#text.length; this.#skip()) {
      if (this.#take(/[}\]]/y) !== "") break;
      const start = this.#at;
      if (opening === "{") this.#entry(part);
      else {
        const index = part.parts.size;
        part.parts.set(String(index), this.#value([...written, index], undefined));
      }
      if (this.#at === start) break;
    }
    return part;
  }

  #part(written: ConfigPath, key: number | undefined, value: number | undefined): Part {
    return { written, key, value, parts: new Map(), layer: this.#layer };
  }

  #skip(): void {
    this.#take(this.#language.between);
  }

  /** What matches here, and goes behind it; an empty text otherwise. */
  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }
}

/** The text between quotes. One with escapes that JSON does not have stays as it is written: then its parent has the place. */
function unquote(text: string): string {
  const inner = text.slice(1, -1);
  if (text.startsWith("'") || !inner.includes("\\")) return inner;
  try {
    return String(JSON.parse(text));
  } catch {
    return inner;
  }
}
