import type { Json } from "propylon";
import { isObject } from "propylon/kit";

/** Schemas looked at for one value; those of a hostile document could be nested without end. */
const MAX_SCHEMAS = 64;

/**
 * A value of an argument as the API gets it: properties by the names that the document gives them, and without the nulls of
 * properties that are neither required nor may be null, which models send for what they leave out.
 *
 * @param schema of the value, as the tool shows it
 * @param root the tool's input schema, with its `$defs`
 * @param originals names of the document by the names that stand for them
 */
export function fitValue(
  value: unknown,
  schema: unknown,
  root: Json,
  originals: ReadonlyMap<string, string>,
): unknown {
  if (!isObject(value) && !Array.isArray(value)) return value;
  const schemas = meanings(schema, root);
  const fit = (part: unknown, within: readonly unknown[]): unknown =>
    fitValue(part, within.length === 1 ? within[0] : { anyOf: within }, root, originals);
  if (Array.isArray(value)) {
    const items = schemas.flatMap((each) => present(each["items"]));
    return value.map((part) => fit(part, items));
  }
  const fitted: Json = {};
  for (const [key, part] of Object.entries<unknown>(value)) {
    const own = schemas.flatMap((each) => propertyOf(each, key));
    if (part === null && own.length > 0 && !isRequired(schemas, key) && !canBeNull(own, root))
      continue;
    const others = schemas.flatMap((each) => present(each["additionalProperties"]));
    const name = own.length > 0 ? (originals.get(key) ?? key) : key;
    fitted[name] = fit(part, own.length > 0 ? own : others);
  }
  return fitted;
}

/** A schema, what it refers to, and what it is put together of. */
function meanings(schema: unknown, root: Json): Json[] {
  const found = new Set<Json>();
  const waiting = [schema];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (!isObject(next) || found.has(next) || found.size === MAX_SCHEMAS) continue;
    found.add(next);
    if (typeof next["$ref"] === "string") waiting.push(referred(next["$ref"], root));
    for (const key of ["allOf", "anyOf", "oneOf"])
      if (Array.isArray(next[key])) waiting.push(...(next[key] as unknown[]));
  }
  return [...found];
}

function referred(reference: string, root: Json): unknown {
  const definitions = root["$defs"];
  return isObject(definitions) ? definitions[reference.slice("#/$defs/".length)] : undefined;
}

function propertyOf({ properties }: Json, key: string): unknown[] {
  return isObject(properties) && Object.hasOwn(properties, key) ? [properties[key]] : [];
}

function present(value: unknown): unknown[] {
  return value === undefined ? [] : [value];
}

function isRequired(schemas: readonly Json[], key: string): boolean {
  return schemas.some(({ required }) => Array.isArray(required) && required.includes(key));
}

function canBeNull(schemas: readonly unknown[], root: Json): boolean {
  return schemas.some((schema) => allowsNull(schema, root, 0));
}

function allowsNull(schema: unknown, root: Json, depth: number): boolean {
  if (!isObject(schema) || depth > MAX_SCHEMAS) return schema !== false;
  const { type, enum: values, $ref: reference } = schema;
  const within = (part: unknown): boolean => allowsNull(part, root, depth + 1);
  if (typeof reference === "string" && !within(referred(reference, root))) return false;
  if (type !== undefined && type !== "null" && !(Array.isArray(type) && type.includes("null")))
    return false;
  if (Array.isArray(values) && !values.includes(null)) return false;
  if (schema["const"] !== undefined && schema["const"] !== null) return false;
  for (const key of ["anyOf", "oneOf"]) {
    const parts = schema[key];
    if (Array.isArray(parts) && !parts.some(within)) return false;
  }
  const all = schema["allOf"];
  return !Array.isArray(all) || all.every(within);
}
