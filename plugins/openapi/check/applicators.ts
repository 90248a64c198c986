import { isObject } from "propylon/kit";
import { counted, requireAll } from "./assertions.ts";
import { every, type Keyword, type Verdict, type Walk } from "./verdict.ts";

/** What only the server judges: these run a stranger's pattern, or need what such a pattern would have said. */
const unknown: Keyword = () => undefined;

/** Keywords that hold other schemas, and those that are left to the server. */
export const APPLICATORS: Readonly<Record<string, Keyword>> = {
  pattern: (_walk, _rule, value) => (typeof value === "string" ? undefined : true),
  format: (_walk, _rule, value) => (typeof value === "string" ? undefined : true),
  patternProperties: (_walk, rule, value) =>
    isObject(value) && isObject(rule) && Object.keys(rule).length > 0 ? undefined : true,
  unevaluatedItems: unknown,
  unevaluatedProperties: unknown,
  $dynamicRef: unknown,
  $recursiveRef: unknown,
  $ref: (walk, rule, value) =>
    typeof rule === "string" ? walk.check(walk.follow(rule), value) : undefined,
  allOf: (walk, rule, value) => (isList(rule) ? every(lazily(walk, rule, value)) : true),
  anyOf: (walk, rule, value) => {
    if (!isList(rule)) return true;
    return choose(
      walk,
      rule,
      value,
      (matches, open) => matches > 0 || (open > 0 ? undefined : false),
    );
  },
  oneOf: (walk, rule, value) => {
    if (!isList(rule)) return true;
    return choose(walk, rule, value, (matches, open) => {
      if (matches > 1) return walk.fail("It must match one of the alternatives only.");
      return open > 0 ? undefined : matches === 1;
    });
  },
  not: (walk, rule, value) => {
    const { verdict } = walk.quietly(rule, value);
    return verdict === true
      ? walk.fail("It must not be like this.")
      : verdict === false || undefined;
  },
  if: (walk, rule, value, schema) => {
    const { verdict } = walk.quietly(rule, value);
    if (verdict === undefined) return undefined;
    const branch = verdict ? "then" : "else";
    return Object.hasOwn(schema, branch) ? walk.check(schema[branch], value) : true;
  },
  properties: (walk, rule, value) => {
    if (!isObject(rule) || !isObject(value)) return true;
    const keys = Object.keys(value).filter((key) => Object.hasOwn(rule, key));
    return every(keys.map((key) => walk.check(rule[key], value[key], key)));
  },
  additionalProperties: (walk, rule, value, { properties, patternProperties }) => {
    if (!isObject(value)) return true;
    const named = isObject(properties) ? properties : {};
    const others = Object.keys(value).filter((key) => !Object.hasOwn(named, key));
    // Only the patterns say which of them are additional.
    if (isObject(patternProperties) && Object.keys(patternProperties).length > 0)
      return others.length === 0 || undefined;
    if (rule === false) return noneOf(walk, others);
    return every(others.map((key) => walk.check(rule, value[key], key)));
  },
  propertyNames: (walk, rule, value) => {
    if (!isObject(value)) return true;
    return every(Object.keys(value).map((key) => walk.check(rule, key, key)));
  },
  dependentSchemas: (walk, rule, value) => {
    if (!isObject(rule) || !isObject(value)) return true;
    if (!walk.spend(Object.keys(rule).length)) return undefined;
    const asked = Object.entries(rule).filter(([key]) => Object.hasOwn(value, key));
    return every(asked.map(([, schema]) => walk.check(schema, value)));
  },
  dependencies: (walk, rule, value) => {
    if (!isObject(rule) || !isObject(value)) return true;
    if (!walk.spend(Object.keys(rule).length)) return undefined;
    const asked = Object.entries(rule).filter(([key]) => Object.hasOwn(value, key));
    return every(
      asked.map(([, each]) =>
        Array.isArray(each) ? requireAll(walk, each, value) : walk.check(each, value),
      ),
    );
  },
  prefixItems: (walk, rule, value) =>
    isList(rule) && Array.isArray(value) ? eachItem(walk, rule, value) : true,
  items: (walk, rule, value, { prefixItems }) => {
    if (!Array.isArray(value)) return true;
    if (Array.isArray(rule)) return eachItem(walk, rule, value);
    return restOf(walk, rule, value, isList(prefixItems) ? prefixItems.length : 0);
  },
  additionalItems: (walk, rule, value, { items }) =>
    isList(items) && Array.isArray(value) ? restOf(walk, rule, value, items.length) : true,
  contains: (walk, rule, value, { minContains, maxContains }) => {
    if (!Array.isArray(value)) return true;
    const { matches, open } = count(value.map((item) => walk.quietly(rule, item).verdict));
    const least = typeof minContains === "number" ? minContains : 1;
    const most = typeof maxContains === "number" ? maxContains : Number.POSITIVE_INFINITY;
    if (matches + open < least)
      return walk.fail(`It must contain at least ${counted(least, "such item")}.`);
    if (matches > most) return walk.fail(`It must contain at most ${counted(most, "such item")}.`);
    return open === 0 || undefined;
  },
};

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}

function* lazily(walk: Walk, schemas: readonly unknown[], value: unknown): Iterable<Verdict> {
  for (const schema of schemas) yield walk.check(schema, value);
}

/** Tries all alternatives; when none can match, their problems are told. */
function choose(
  walk: Walk,
  schemas: readonly unknown[],
  value: unknown,
  decide: (matches: number, open: number) => Verdict,
): Verdict {
  const tries = schemas.map((schema) => walk.quietly(schema, value));
  const { matches, open } = count(tries.map(({ verdict }) => verdict));
  if (matches + open === 0) for (const each of tries) each.tell();
  return matches + open === 0 && schemas.length === 0 ? undefined : decide(matches, open);
}

function count(verdicts: readonly Verdict[]): { matches: number; open: number } {
  return {
    matches: verdicts.filter((verdict) => verdict === true).length,
    open: verdicts.filter((verdict) => verdict === undefined).length,
  };
}

function noneOf(walk: Walk, keys: readonly string[]): boolean {
  for (const key of keys) walk.fail("It is not expected here.", key);
  return keys.length === 0;
}

function eachItem(walk: Walk, schemas: readonly unknown[], value: readonly unknown[]): Verdict {
  const length = Math.min(schemas.length, value.length);
  return every(
    Array.from({ length }, (_, index) => walk.check(schemas[index], value[index], index)),
  );
}

function restOf(walk: Walk, schema: unknown, value: readonly unknown[], from: number): Verdict {
  if (schema === false)
    return value.length <= from || walk.fail(`It must have at most ${counted(from, "item")}.`);
  return every(value.slice(from).map((item, index) => walk.check(schema, item, from + index)));
}
