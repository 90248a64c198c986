import type { Json } from "propylon";
import { isObject } from "propylon/kit";
import { followReference } from "../pointer.ts";
import { APPLICATORS } from "./applicators.ts";
import { ASSERTIONS } from "./assertions.ts";
import {
  every,
  type Keyword,
  type Problem,
  type Quiet,
  type Verdict,
  type Walk,
} from "./verdict.ts";

/** Work for one value, in keywords applied and values compared: below 50 ms of the event loop, also for code that is not warm. */
const MAX_WORK = 10_000;
/** Characters of a reference that are as much work as a keyword. */
const REFERENCE_PIECE = 16;
/** Schemas within schemas. More is a circle of references. */
const MAX_DEPTH = 256;
/** Problems named in one answer. */
const MAX_PROBLEMS = 10;
/** Dialects in which nothing beside a `$ref` counts. */
const OLD_DIALECT = /\/draft-0[3-7]\//;

const KEYWORDS: ReadonlyMap<string, Keyword> = new Map(
  Object.entries({ ...ASSERTIONS, ...APPLICATORS }),
);

/**
 * Finds what is certainly wrong about a value by a schema that a stranger wrote, in bounded time. Patterns, formats and what
 * depends on them are left to the server that wrote them: a regular expression can take hours for 30 characters, and nothing
 * can interrupt it here. So is the rest of a schema that takes too much work, e.g. a circle of references.
 *
 * @returns nothing for a value that matches, or may match
 * @example const [first] = findProblems(tool.inputSchema, args); // { path: "count", message: "It must be at least 1." }
 */
export function findProblems(schema: Json, value: unknown): readonly Problem[] {
  const walk = new SchemaWalk(schema);
  try {
    return walk.check(schema, value) === false ? walk.problems : [];
  } catch {
    // A schema that a plugin made of circular or endlessly deep objects.
    return [];
  }
}

class SchemaWalk implements Walk {
  readonly refStandsAlone: boolean;
  problems: Problem[] = [];
  readonly #root: Json;
  readonly #path: (string | number)[] = [];
  #work = MAX_WORK;
  #depth = 0;

  constructor(root: Json) {
    this.#root = root;
    this.refStandsAlone = OLD_DIALECT.test(String(root["$schema"]));
  }

  check(schema: unknown, value: unknown, key?: string | number): Verdict {
    if (schema === true) return true;
    if (key !== undefined) this.#path.push(key);
    this.#depth++;
    const verdict = this.#verdict(schema, value);
    this.#depth--;
    if (key !== undefined) this.#path.pop();
    return verdict;
  }

  quietly(schema: unknown, value: unknown): Quiet {
    const before = this.problems;
    const found: Problem[] = [];
    this.problems = found;
    const verdict = this.check(schema, value);
    this.problems = before;
    return { verdict, tell: () => this.#note(...found) };
  }

  follow(reference: string): unknown {
    if (!this.spend(Math.floor(reference.length / REFERENCE_PIECE))) return undefined;
    return followReference(this.#root, reference);
  }

  fail(message: string, key?: string): false {
    if (this.problems.length < MAX_PROBLEMS) {
      const path = key === undefined ? this.#path : [...this.#path, key];
      this.#note({ path: path.join("."), message });
    }
    return false;
  }

  spend(work: number): boolean {
    this.#work -= work;
    return this.#work >= 0;
  }

  #note(...problems: readonly Problem[]): void {
    this.problems.push(...problems.slice(0, MAX_PROBLEMS - this.problems.length));
  }

  #verdict(schema: unknown, value: unknown): Verdict {
    if (schema === false) return this.fail("It is not expected here.");
    if (!this.spend(1) || this.#depth > MAX_DEPTH || !isObject(schema)) return undefined;
    // References below it are relative to it, and it may be somewhere else.
    if (typeof schema["$id"] === "string" && schema !== this.#root) return undefined;
    if (this.refStandsAlone && typeof schema["$ref"] === "string")
      return this.check(this.follow(schema["$ref"]), value);
    return every(this.#eachKeyword(schema, value));
  }

  *#eachKeyword(schema: Json, value: unknown): Iterable<Verdict> {
    const entries = Object.entries(schema);
    // A schema of many keys that doubles at each level is as much work as its keys, known or not.
    if (!this.spend(Math.max(0, entries.length - 1))) return yield undefined;
    for (const [name, rule] of entries) {
      const keyword = KEYWORDS.get(name);
      if (keyword) yield keyword(this, rule, value, schema);
    }
  }
}
