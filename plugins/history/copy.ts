import { ExactNumber } from "propylon/kit";
import { REDACTED, type Secrets } from "./secrets.ts";

/** A copy that is safe to keep: of bounded size, without secrets, and sharing nothing that somebody could change. */
export interface Copy {
  readonly value: unknown;
  /** Whether something is missing because it is a secret. */
  readonly redacted: boolean;
  /** Whether something is missing because it was too much. */
  readonly truncated: boolean;
  /** The texts that were left out as secrets, to be found again where a tool repeats them. */
  readonly secrets: readonly string[];
  /** Whether there may be more secrets than {@link secrets}: the value was too large to look through. */
  readonly unsearched: boolean;
}

/** How a copy is made. */
export interface CopyRules {
  /** Absent: nothing is secret. */
  readonly secrets?: Secrets | undefined;
  /** Memory the copy may take, as estimated. */
  readonly limit: number;
  /** Whether texts may hold JSON, in which secrets are looked for as well. */
  readonly insideTexts?: boolean;
}

const NODE_BYTES = 16;
const CHARACTER_BYTES = 2;
const MAX_DEPTH = 64;
/** Shorter texts occur everywhere by chance. */
const MIN_SECRET = 4;
const MAX_SECRETS = 50;
/** Values that are looked through for secrets behind the part that is copied. */
const MAX_SEARCHED = 20_000;

/** Copies JSON. The cost is bounded, however large the value is. */
export function copyJson(value: unknown, rules: CopyRules): Copy {
  const copying = new Copying(rules);
  const copied = copying.copy(value, ROOT);
  const { redacted, truncated, secrets, unsearched } = copying;
  return { value: copied, redacted, truncated, secrets, unsearched };
}

/** Whether nothing of a value is a secret and all of it fits, so that it needs no copy. */
export function isPlain(value: unknown, { secrets, limit }: CopyRules): boolean {
  return !secrets?.hasPlaces && measure(value, limit, secrets, 0) > 0;
}

/** What is left of the room; nothing, as soon as there is a secret. */
function measure(
  value: unknown,
  room: number,
  secrets: Secrets | undefined,
  depth: number,
): number {
  let left = room - NODE_BYTES;
  if (typeof value === "string") return left - value.length * CHARACTER_BYTES;
  if (value instanceof ExactNumber) return left - value.text.length * CHARACTER_BYTES;
  if (typeof value !== "object" || value === null) return left;
  if (depth >= MAX_DEPTH) return 0;
  if (Array.isArray(value)) {
    for (const item of value) if ((left = measure(item, left, secrets, depth + 1)) <= 0) return 0;
    return left;
  }
  for (const name in value) {
    if (secrets?.isName(name)) return 0;
    left -= name.length * CHARACTER_BYTES;
    left = measure((value as Record<string, unknown>)[name], left, secrets, depth + 1);
    if (left <= 0) return 0;
  }
  return left;
}

/** Where in a value something stands. */
interface Place {
  readonly names: readonly string[];
  readonly depth: number;
}

const ROOT: Place = { names: [], depth: 0 };

class Copying {
  left: number;
  redacted = false;
  truncated = false;
  unsearched = false;
  readonly secrets: string[] = [];
  #searched = 0;
  readonly #rules: CopyRules;

  constructor(rules: CopyRules) {
    this.#rules = rules;
    this.left = rules.limit;
  }

  copy(value: unknown, path: Place): unknown {
    this.left -= NODE_BYTES;
    if (typeof value === "string") return this.#text(value);
    if (value instanceof ExactNumber) return this.#number(value);
    if (typeof value !== "object" || value === null) return value;
    if (this.left <= 0 || path.depth >= MAX_DEPTH) return this.#skip(value, path);
    return Array.isArray(value) ? this.#list(value, path) : this.#members(value, path);
  }

  #text(text: string): string {
    const { secrets, insideTexts } = this.#rules;
    const kept = this.#beginning(text);
    return secrets && insideTexts && kept.includes('"') ? secrets.mask(kept) : kept;
  }

  /** Half of a number is a different number. */
  #number(number: ExactNumber): ExactNumber | string {
    const kept = this.#beginning(number.text);
    return kept === number.text ? number : kept;
  }

  #beginning(text: string): string {
    const room = Math.max(0, Math.floor(this.left / CHARACTER_BYTES));
    this.left -= Math.min(text.length, room) * CHARACTER_BYTES;
    if (text.length <= room) return text;
    return this.#cut(`${text.slice(0, room)}[cut off]`);
  }

  #list(values: readonly unknown[], path: Place): unknown[] {
    const copied: unknown[] = [];
    for (const [at, value] of values.entries()) {
      const place = this.#below(path, String(at));
      if (this.left > 0) copied.push(this.copy(value, place));
      else this.#skip(value, place);
      if (this.unsearched) break;
    }
    return copied;
  }

  #members(object: object, path: Place): object {
    const copied: [string, unknown][] = [];
    for (const [name, value] of Object.entries(object)) {
      const place = this.#below(path, name);
      const isSecret = this.#isSecret(name, place);
      if (isSecret) this.#remember(value, 0);
      if (this.left > 0)
        copied.push([this.#beginning(name), isSecret ? this.#redact() : this.copy(value, place)]);
      else if (!isSecret) this.#skip(value, place);
      if (this.unsearched) break;
    }
    // Not by assignment, which would set the prototype for the name __proto__.
    return Object.fromEntries(copied);
  }

  /** Names are collected only where a rule asks for places. */
  #below({ names, depth }: Place, name: string): Place {
    const isAsked = this.#rules.secrets?.hasPlaces === true;
    return { names: isAsked ? [...names, name] : names, depth: depth + 1 };
  }

  #isSecret(name: string, place: Place): boolean {
    const { secrets } = this.#rules;
    return secrets !== undefined && (secrets.isName(name) || secrets.isPlace(place.names));
  }

  #redact(): string {
    this.redacted = true;
    this.left -= NODE_BYTES;
    return REDACTED;
  }

  /** Leaves a value out, but not the secrets in it. */
  #skip(value: unknown, path: Place): string {
    if (++this.#searched > MAX_SEARCHED) this.unsearched = true;
    this.#search(value, path);
    return this.#cut("[cut off]");
  }

  #search(value: unknown, path: Place): void {
    if (!this.#rules.secrets || typeof value !== "object" || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      if (++this.#searched > MAX_SEARCHED || path.depth > 2 * MAX_DEPTH) this.unsearched = true;
      if (this.unsearched) return;
      const place = this.#below(path, name);
      if (this.#isSecret(name, place)) this.#remember(inner, 0);
      else this.#search(inner, place);
    }
  }

  #remember(value: unknown, depth: number): void {
    if (this.secrets.length >= MAX_SECRETS || depth > MAX_DEPTH) {
      this.unsearched = true;
      return;
    }
    if (typeof value === "object" && value !== null) {
      for (const inner of Object.values(value)) this.#remember(inner, depth + 1);
      return;
    }
    if (typeof value !== "string" && typeof value !== "number") return;
    const text = String(value);
    if (text.length >= MIN_SECRET) this.secrets.push(text);
  }

  #cut<T>(rest: T): T {
    this.truncated = true;
    return rest;
  }
}
