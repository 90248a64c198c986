import { ExactNumber } from "../kit/json.ts";
import { valueAt } from "../kit/pointer.ts";

/** JSON Schema of a stranger: anything may stand anywhere. */
type Schema = Readonly<Record<string, unknown>>;

/** What a part of the form asks for. What it has no field for is typed as JSON. */
export type FormField = {
  readonly title: string | undefined;
  readonly description: string | undefined;
  /** Whether `null` is a value of it, which stands for nothing where one is required. */
  readonly nullable: boolean;
  readonly initial: unknown;
} & (
  | {
      readonly kind: "text";
      readonly minLength: number | undefined;
      readonly maxLength: number | undefined;
      readonly input:
        | "text"
        | "date"
        | "datetime-local"
        | "email"
        | "url"
        | "password"
        | "file"
        | "multiline";
    }
  | {
      readonly kind: "number";
      readonly isInteger: boolean;
      readonly minimum: number | undefined;
      readonly maximum: number | undefined;
    }
  | { readonly kind: "choice"; readonly values: readonly unknown[] }
  | { readonly kind: "list"; readonly item: FormField; readonly maxItems: number | undefined }
  /** Some of a few values, in the order in which they were chosen. */
  | { readonly kind: "set"; readonly values: readonly unknown[] }
  | { readonly kind: "group"; readonly members: readonly FormMember[] }
  | { readonly kind: "json" }
);

/** A property of an object. */
export interface FormMember {
  readonly name: string;
  readonly isRequired: boolean;
  readonly field: FormField;
}

/** Groups and lists below this are typed as JSON: a schema may refer to itself. */
const MAX_DEPTH = 4;
/** References that lead to references. */
const MAX_HOPS = 10;
/** Properties of one object that have a field; an object with more is typed as JSON. */
const MAX_MEMBERS = 200;

/** The form for a schema of an object; of kind `json` when there is no form for it. */
export function toForm(schema: unknown): FormField {
  return toField(schema, isObject(schema) ? schema : {}, 0);
}

function toField(given: unknown, root: Schema, depth: number): FormField {
  const { schema, nullable } = withoutNull(resolve(given, root), root);
  const common = {
    title: textOf(schema["title"]),
    description: textOf(schema["description"]) ?? textOf(isObject(given) && given["description"]),
    nullable,
    initial: schema["default"] ?? (isObject(given) ? given["default"] : undefined),
  };
  const values = choicesOf(schema);
  if (values) return { ...common, kind: "choice", values };
  if (isCombined(schema)) return { ...common, kind: "json" };
  switch (typeOf(schema)) {
    case "string":
      return {
        ...common,
        kind: "text",
        minLength: countOf(schema["minLength"]),
        maxLength: countOf(schema["maxLength"]),
        input: isBase64(schema) ? "file" : inputOf(schema["format"], countOf(schema["maxLength"])),
      };
    case "number":
    case "integer":
      return { ...common, kind: "number", ...rangeOf(schema) };
    case "boolean":
      return { ...common, kind: "choice", values: [true, false] };
    case "array":
      if (depth >= MAX_DEPTH || !isObject(schema["items"])) break;
      if (isSet(schema)) {
        const some = choicesOf(resolve(schema["items"], root));
        if (some?.every((value) => !isObject(value)))
          return { ...common, kind: "set", values: some };
      }
      return {
        ...common,
        kind: "list",
        item: toField(schema["items"], root, depth + 1),
        maxItems: countOf(schema["maxItems"]),
      };
    case "object":
      return toGroup(schema, root, depth, common);
  }
  return { ...common, kind: "json" };
}

type Common = Pick<FormField, "title" | "description" | "nullable" | "initial">;

function toGroup(schema: Schema, root: Schema, depth: number, common: Common): FormField {
  const properties = Object.entries(isObject(schema["properties"]) ? schema["properties"] : {});
  const isFree = properties.length === 0 && depth > 0;
  if (depth >= MAX_DEPTH || isFree || properties.length > MAX_MEMBERS)
    return { ...common, kind: "json" };
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  // What is required and has no field could not be given.
  const known = new Set(properties.map(([name]) => name));
  if ([...required].some((name) => !known.has(name as string))) return { ...common, kind: "json" };
  const members = properties.map(([name, property]) => ({
    name,
    isRequired: required.has(name),
    field: toField(property, root, depth + 1),
  }));
  return { ...common, kind: "group", members };
}

/** Follows `$ref` within the document, as often as is sane. */
function resolve(given: unknown, root: Schema): Schema {
  let schema = given;
  for (
    let hops = 0;
    hops < MAX_HOPS && isObject(schema) && typeof schema["$ref"] === "string";
    hops++
  )
    schema = lookUp(schema["$ref"], root);
  return isObject(schema) && typeof schema["$ref"] !== "string" ? schema : {};
}

/** A reference is a fragment: a JSON Pointer in percent-encoding. */
function lookUp(reference: string, root: Schema): unknown {
  if (!reference.startsWith("#")) return undefined;
  try {
    return valueAt(root, decodeURIComponent(reference.slice(1)));
  } catch {
    return undefined;
  }
}

/** A schema that also takes `null`, in the three ways that generators write it, as the schema of what else it takes. */
function withoutNull(schema: Schema, root: Schema): { schema: Schema; nullable: boolean } {
  if (Array.isArray(schema["type"]) && schema["type"].includes("null")) {
    const types = schema["type"].filter((type) => type !== "null");
    return { schema: { ...schema, type: types.length === 1 ? types[0] : types }, nullable: true };
  }
  const ways = schema["anyOf"] ?? schema["oneOf"];
  if (!Array.isArray(ways)) return { schema, nullable: schema["nullable"] === true };
  const others = ways.filter((way) => !isObject(way) || way["type"] !== "null");
  if (others.length !== 1) return { schema, nullable: false };
  const { anyOf: _any, oneOf: _one, ...rest } = schema;
  return {
    schema: { ...rest, ...resolve(others[0], root) },
    nullable: others.length < ways.length,
  };
}

function choicesOf(schema: Schema): readonly unknown[] | undefined {
  if ("const" in schema) return [schema["const"]];
  if (Array.isArray(schema["enum"])) return schema["enum"].filter((value) => value !== null);
  const ways = schema["oneOf"];
  if (!Array.isArray(ways) || !ways.every((way) => isObject(way) && "const" in way))
    return undefined;
  return ways.map((way) => (way as Schema)["const"]);
}

/** Whether a list is some of its values and nothing else. */
function isSet(schema: Schema): boolean {
  const limits = ["minItems", "maxItems", "contains", "prefixItems", "default"];
  return schema["uniqueItems"] === true && limits.every((limit) => !(limit in schema));
}

function isCombined(schema: Schema): boolean {
  return [
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "propertyNames",
    "minProperties",
  ].some((word) => word in schema);
}

function typeOf(schema: Schema): unknown {
  if (schema["type"] !== undefined) return schema["type"];
  return isObject(schema["properties"]) ? "object" : undefined;
}

function rangeOf(schema: Schema): {
  isInteger: boolean;
  minimum: number | undefined;
  maximum: number | undefined;
} {
  const isInteger = schema["type"] === "integer";
  const number = (name: string): number | undefined =>
    typeof schema[name] === "number" ? schema[name] : undefined;
  return { isInteger, minimum: number("minimum"), maximum: number("maximum") };
}

/** Whether a text holds bytes: as JSON Schema says it, or as OpenAPI 3.0 does. */
function isBase64(schema: Schema): boolean {
  return schema["contentEncoding"] === "base64" || schema["format"] === "byte";
}

/** A long text without a bound gets a field of several lines. */
function inputOf(
  format: unknown,
  maxLength: number | undefined,
): Extract<FormField, { kind: "text" }>["input"] {
  if (format === "date" || format === "email" || format === "password") return format;
  if (format === "date-time") return "datetime-local";
  if (format === "uri" || format === "url") return "url";
  return format === undefined && (maxLength === undefined || maxLength > 200)
    ? "multiline"
    : "text";
}

function countOf(value: unknown): number | undefined {
  return Number.isInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Whether a value is an object of JSON. */
export function isObject(value: unknown): value is Schema {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return !(value instanceof ExactNumber);
}

/** What a form begins with: the defaults of the schema, and nothing where it has none. */
export function initialOf(field: FormField): unknown {
  if (field.initial !== undefined) return field.initial;
  if (field.kind !== "group") return undefined;
  const entries = field.members
    .map(({ name, field: member }) => [name, initialOf(member)] as const)
    .filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** The same with words in place of passwords: what is copied is pasted into chats. */
export function withoutPasswords(field: FormField, value: unknown): unknown {
  if (field.kind === "text") return field.input === "password" && value ? "the password" : value;
  if (field.kind === "list" && Array.isArray(value))
    return value.map((item) => withoutPasswords(field.item, item));
  if (field.kind !== "group" || !isObject(value)) return value;
  const entries = field.members
    .filter(({ name }) => name in value)
    .map(({ name, field: member }) => [name, withoutPasswords(member, value[name])] as const);
  return Object.fromEntries(entries);
}

/** What is sent for what was filled in: what is empty and optional is left out, what is empty and required is as empty as may be. */
export function toValue(field: FormField, filled: unknown, isRequired: boolean): unknown {
  if (field.kind === "group") {
    const given = isObject(filled) ? filled : {};
    const entries = field.members
      .map(
        (member) =>
          [member.name, toValue(member.field, given[member.name], member.isRequired)] as const,
      )
      .filter(([, value]) => value !== undefined);
    if (entries.length === 0 && !isRequired) return undefined;
    return Object.fromEntries(entries);
  }
  if (filled !== undefined && filled !== "") return filled;
  if (!isRequired) return undefined;
  if (field.nullable) return null;
  if (field.kind === "list" || field.kind === "set") return [];
  return field.kind === "text" && !field.minLength ? "" : undefined;
}
