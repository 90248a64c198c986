import type { Json } from "propylon";
import { isObject } from "propylon/kit";
import { textOf, type Part } from "propylon/contract";

/** Media type of the part that holds the schema of an answer. */
export const SCHEMA_TYPE = "application/schema+json";
const ACTIONS: ReadonlySet<string> = new Set(["decline", "cancel"]);
const YES: ReadonlySet<string> = new Set(["yes", "y", "true", "ok", "accept"]);
const NO: ReadonlySet<string> = new Set(["no", "n", "false"]);

/** A form of MCP elicitation as parts of a question: what is asked, and the schema of the answer as data. */
export function partsOfForm({ message, requestedSchema }: Json, objection: string): Part[] {
  const question = typeof message === "string" && message !== "" ? message : "Please answer.";
  return [
    { text: objection === "" ? question : `${objection} ${question}` },
    ...(isObject(requestedSchema) ? [{ data: requestedSchema, mediaType: SCHEMA_TYPE }] : []),
  ];
}

/**
 * The answer to a form. Data are its fields; a text is the only field, or `decline` or `cancel`, or a yes or no where there are no
 * fields. Types and choices are checked; the rest of a schema is for the server that asked.
 *
 * @returns the result of the elicitation, or a sentence about why the message is not an answer
 */
export function readAnswer(parts: readonly Part[], { requestedSchema }: Json): Json | string {
  const fields = fieldsOf(requestedSchema);
  const data = parts.find((part) => part.data !== undefined)?.data;
  if (isObject(data)) return accept(data, fields);
  if (data !== undefined) return "The data of the answer must be an object.";
  const text = textOf(parts).trim();
  const word = text.toLowerCase();
  if (ACTIONS.has(word)) return { action: word };
  if (fields.length === 0) return readConsent(word);
  const field = onlyOf(fields);
  if (!field) return `The answer must be data with ${fields.map(({ name }) => name).join(", ")}.`;
  return accept({ [field.name]: valueOf(text, field.schema) }, fields);
}

interface Field {
  readonly name: string;
  readonly schema: Json;
  readonly isRequired: boolean;
}

function fieldsOf(schema: unknown): readonly Field[] {
  const { properties, required } = isObject(schema) ? schema : {};
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(isObject(properties) ? properties : {}).map(([name, field]) => ({
    name,
    schema: isObject(field) ? field : {},
    isRequired: names.includes(name),
  }));
}

/** The field that a text is for: the only one required, else the only one there is. */
function onlyOf(fields: readonly Field[]): Field | undefined {
  const required = fields.filter(({ isRequired }) => isRequired);
  const [only, second] = required.length > 0 ? required : fields;
  return second ? undefined : only;
}

/** A form without fields asks for consent: a "no" must not pass for an answer. */
function readConsent(word: string): Json | string {
  if (YES.has(word)) return { action: "accept", content: {} };
  return NO.has(word) ? { action: "decline" } : "The answer must be yes or no.";
}

/** A text as the value that a field takes; the text itself where it cannot be one. */
function valueOf(text: string, schema: Json): unknown {
  const word = text.toLowerCase();
  if (schema["type"] === "boolean") return YES.has(word) || (NO.has(word) ? false : text);
  if (schema["type"] === "array") return text.split(",").map((item) => item.trim());
  if (schema["type"] === "string") return text;
  const number = Number(text);
  return text !== "" && Number.isFinite(number) ? number : text;
}

function accept(content: Json, fields: readonly Field[]): Json | string {
  for (const { name, schema, isRequired } of fields) {
    const value = Object.hasOwn(content, name) ? content[name] : undefined;
    if (value === undefined && isRequired) return `${name} is missing in the answer.`;
    const wanted = value === undefined ? undefined : wantedOf(value, schema);
    if (wanted !== undefined) return `${name} must be ${wanted}.`;
  }
  return { action: "accept", content };
}

/** What a value should have been; `undefined` when it fits. */
function wantedOf(value: unknown, { type, enum: choices }: Json): string | undefined {
  if (typeof type === "string" && TYPES[type]?.fits(value) === false) return TYPES[type].name;
  if (Array.isArray(choices) && !choices.includes(value)) return `one of ${choices.join(", ")}`;
  return undefined;
}

/** The types that fields of MCP forms have. */
const TYPES: Readonly<
  Record<string, { readonly name: string; readonly fits: (value: unknown) => boolean }>
> = {
  string: { name: "a string", fits: (value) => typeof value === "string" },
  number: { name: "a number", fits: (value) => typeof value === "number" },
  integer: { name: "a whole number", fits: (value) => Number.isInteger(value) },
  boolean: { name: "true or false", fits: (value) => typeof value === "boolean" },
  array: { name: "a list", fits: (value) => Array.isArray(value) },
};
