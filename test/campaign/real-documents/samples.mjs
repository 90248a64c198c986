/** Arguments that fit a tool, and answers that a document promises. */
import { follow } from "./document.mjs";

const MAX_DEPTH = 8;
/** Levels of optional members that are given. */
const OPTIONAL = 3;

/** Makes arguments whose every text and number is there once, so that it is seen where it arrives. */
export class Sampler {
  #count = 0;
  #root;
  #all;

  /** @param all whether optional ones are given too */
  constructor(schema, all) {
    this.#root = schema;
    this.#all = all;
  }

  arguments() {
    return this.#map(this.#root, 0);
  }

  /** Four characters that are base64, too. */
  #text() {
    return `v${(this.#count++).toString(36).padStart(3, "0")}`;
  }

  #sample(written, depth, also = []) {
    const schema = this.#follow(written);
    // A definition that there was no room for; an API may have its own mind of it.
    if (depth > 1 && written?.$ref && Object.keys(schema ?? {}).length === 0) return undefined;
    if (typeof schema !== "object" || schema === null) return this.#text();
    if (depth > MAX_DEPTH) return undefined;
    if (schema.const !== undefined) return schema.const;
    if (Array.isArray(schema.enum)) return schema.enum.find((each) => each !== null);
    const [one] = schema.anyOf ?? schema.oneOf ?? [];
    const parts = [...(schema.allOf ?? []), ...(one === undefined ? [] : [one])];
    const type = [schema.type].flat().find((each) => each !== "null");
    if (type === undefined && parts.length > 0) return this.#together(schema, parts, depth, also);
    if (type === "object" || (type === undefined && schema.properties))
      return this.#together(schema, parts, depth, also);
    if (type === "array")
      return [this.#sample(schema.items, depth + 1)].filter((each) => each !== undefined);
    if (type === "integer" || type === "number") return 1_000 + this.#count++;
    if (type === "boolean") return true;
    return this.#text();
  }

  #follow(schema) {
    return schema?.$ref ? this.#root.$defs?.[schema.$ref.slice("#/$defs/".length)] : schema;
  }

  #together(schema, parts, depth, also) {
    // A part has members that the whole requires.
    const wanted = [...also, ...(schema.required ?? [])];
    const saying = parts.filter((part) => saysWhat(this.#follow(part)));
    const values = saying.map((part) => this.#sample(part, depth + 1, wanted));
    if (values.length === 0 && schema.type === undefined && !schema.properties)
      return depth > 1 && parts.length > 0 ? undefined : this.#text();
    const other = values.find((each) => typeof each !== "object");
    if (other !== undefined && schema.properties === undefined) return other;
    const own = schema.properties || parts.length === 0 ? this.#map(schema, depth, wanted) : {};
    return Object.assign({}, ...values.filter((each) => typeof each === "object"), own);
  }

  #map({ properties, required: own = [], additionalProperties }, depth, required = own) {
    const given = Object.entries(properties ?? {})
      .filter(([key]) => required.includes(key) || (this.#all && depth < OPTIONAL))
      .map(([key, each]) => [key, this.#sample(each, depth + 1)])
      .filter(([, value]) => value !== undefined);
    const isFree = properties === undefined && additionalProperties !== false && depth > 0;
    return isFree ? { key: this.#text() } : Object.fromEntries(given);
  }
}

/** Whether a part of a schema says more than a description does. */
function saysWhat(schema) {
  const keys = ["type", "properties", "enum", "const", "allOf", "anyOf", "oneOf"];
  return keys.some((key) => schema?.[key] !== undefined);
}

/** What an endpoint answers: its first success, or nothing. */
export function toAnswer({ root, method, operation }) {
  const [status, response] = successOf(root, operation);
  const [type, media] = Object.entries(response?.content ?? {})[0] ?? [];
  if (type === undefined || status === 204 || status === 205 || method === "HEAD")
    return { status };
  if (!/json/.test(type))
    return { status, type: type.includes("*") ? "text/plain" : type, body: "text" };
  const body = JSON.stringify(promised(media?.schema, root, 0));
  return { status, type: "application/json", body };
}

function successOf(root, operation) {
  for (const [status, response] of Object.entries(operation.responses ?? {}))
    if (/^2\d\d$/.test(status)) return [Number(status), follow(response, root)];
  return [200, undefined];
}

function promised(written, root, depth) {
  const schema = follow(written, root);
  if (typeof schema !== "object" || schema === null || depth > 6) return null;
  if (schema.example !== undefined) return schema.example;
  const { type, properties, items, allOf } = schema;
  if (Array.isArray(allOf))
    return Object.assign({}, ...allOf.map((each) => promised(each, root, depth + 1)));
  if (properties || type === "object")
    return Object.fromEntries(
      Object.entries(properties ?? {}).map(([key, each]) => [key, promised(each, root, depth + 1)]),
    );
  if (type === "array") return [promised(items, root, depth + 1)];
  if (type === "integer" || type === "number") return 1;
  if (type === "boolean") return true;
  return "text";
}
