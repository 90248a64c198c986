import type { Json } from "propylon";
import { isObject } from "propylon/kit";
import type { Body } from "./operations.ts";
import type { References } from "./references.ts";

const BYTES = /^(?:image|audio|video)\/|^application\/(?:octet-stream|pdf|zip|gzip)\b/i;
const TEXT =
  /^text\/|^multipart\/|\b(?:json|xml|yaml|jwt|jose|graphql|sql|javascript|x-www-form-urlencoded)\b/i;
/** Keywords of which a schema has at least one when it says what a value is. */
const SAYING = ["type", "properties", "enum", "const", "allOf", "anyOf", "oneOf"];

/** Bytes with the name and the type that many APIs decide by. */
const UPLOAD = {
  type: "object",
  properties: {
    data: { type: "string", description: "The bytes as base64." },
    filename: { type: "string" },
    contentType: { type: "string" },
  },
  required: ["data"],
};

/** A part of a multipart body that is a list of them. */
export const PART: Json = {
  ...UPLOAD,
  properties: {
    name: { type: "string", description: "Name of the part.", default: "file" },
    ...UPLOAD.properties,
  },
};

/** Whether a schema is that of bytes that are sent as such, or of a list of those. */
export function isBinary(node: unknown, references: References, depth = 0): boolean {
  const schema = references.follow(node);
  if (!isObject(schema) || depth > 2) return false;
  const { format, contentMediaType, contentEncoding, items } = schema;
  if (format === "binary") return true;
  if (typeof contentMediaType === "string" && contentEncoding === undefined)
    return !/json|^text\//i.test(contentMediaType);
  return items !== undefined && isBinary(items, references, depth + 1);
}

/** Whether a body as a whole is bytes: by its type, or where neither its type nor its schema says that it is anything else. */
export function isBytesBody({ contentType, schema }: Body, references: References): boolean {
  if (BYTES.test(contentType)) return true;
  if (TEXT.test(contentType)) return false;
  const meant = references.follow(schema);
  if (!isObject(meant) || isBinary(meant, references)) return true;
  return !SAYING.some((key) => meant[key] !== undefined);
}

/** The schema of an argument of bytes: as base64, or with a name and a type. */
export function describeUpload(written: unknown, node: unknown): Json {
  const description =
    isObject(written) && typeof written["description"] === "string"
      ? { description: written["description"] }
      : {};
  const one = {
    anyOf: [{ type: "string", description: "The bytes as base64." }, UPLOAD],
  };
  const isList = isObject(node) && node["type"] === "array";
  return { ...description, ...(isList ? { type: "array", items: one } : one) };
}
