import { maskText } from "../config/mask.ts";
import { isSecretName, MASK } from "../config/secret-text.ts";
import { isObject } from "../kit/json.ts";
import type { Json } from "../call/types.ts";

const MAX_DEPTH = 4;
const MAX_MEMBERS = 32;
const MAX_TEXT = 200;
/** All texts and names together, in characters. */
const MAX_TOTAL = 4_096;
/** So much of a text is searched for secrets before it is cut, in characters. */
const MAX_SEARCHED = 2_000;

/** Stands for what is left out. */
const LEFT_OUT = "…";

/**
 * What a plugin says about a change, fit for the audit whatever it is: a copy of bounded depth and size, with secrets masked by
 * the names they stand under.
 *
 * @param secrets values taken from the environment, masked wherever they stand
 */
export function boundDetails(details: Json, secrets: readonly string[] = []): Json {
  return new Draft(secrets).object(details, 1);
}

/** The copy being made; the room it has is shared by all of it. */
class Draft {
  readonly #secrets: readonly string[];
  #left = MAX_TOTAL;

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  object(value: Json, depth: number): Json {
    const bounded: [string, unknown][] = [];
    for (const name of Object.keys(value).slice(0, MAX_MEMBERS)) {
      if (this.#left <= 0) break;
      const short = this.#text(name);
      bounded.push([short, isSecretName(name) ? MASK : this.#value(value[name], depth + 1)]);
    }
    return Object.fromEntries(bounded);
  }

  #value(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#text(value);
    if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
    const isList = Array.isArray(value);
    if ((!isList && !isObject(value)) || depth > MAX_DEPTH || this.#left <= 0) return LEFT_OUT;
    return isList ? this.#list(value, depth) : this.object(value, depth);
  }

  #list(value: readonly unknown[], depth: number): unknown[] {
    const items: unknown[] = [];
    for (const item of value.slice(0, MAX_MEMBERS))
      if (this.#left-- > 0) items.push(this.#value(item, depth + 1));
    return items;
  }

  #text(text: string): string {
    const masked = maskText(text.slice(0, MAX_SEARCHED), this.#secrets);
    const kept = masked.slice(0, Math.min(MAX_TEXT, Math.max(this.#left, 0)));
    this.#left -= kept.length + 1;
    return kept.length < masked.length || text.length > MAX_SEARCHED ? `${kept}${LEFT_OUT}` : kept;
  }
}
