import { encode, type EncodedBody, entriesOf } from "./encode.ts";
import { writeJson } from "propylon/kit";
import { encodeMultipart } from "./multipart.ts";
import type { FieldEncoding } from "./reading/operations.ts";
import type { SentBody } from "./reading/tool.ts";
import { decodeUpload } from "./upload.ts";
import { pairs, plain, withoutNulls } from "./styles.ts";

/**
 * Writes a body in a content type.
 *
 * @throws {WrongArgument} for a value that cannot be written so
 */
export function encodeBody(contentType: string, value: unknown, body: SentBody): EncodedBody {
  if (/^application\/(?:[\w.-]+\+)?json\b/i.test(contentType))
    return { contentType, content: writeJson(value) };
  if (/^application\/x-www-form-urlencoded\b/i.test(contentType))
    return { contentType, content: encodeForm(value, body.encoding) };
  if (/^multipart\//i.test(contentType)) return encodeMultipart(contentType, value, body);
  if (!body.isBytes) return { contentType, content: plain(value) };
  const { bytes, contentType: given } = decodeUpload(body.argument ?? "body", value);
  return { contentType: given ?? contentType, content: bytes };
}

function encodeForm(value: unknown, encoding: Readonly<Record<string, FieldEncoding>>): string {
  return entriesOf(value)
    .flatMap(([key, part]) => encodeField(key, part, encoding[key]))
    .join("&");
}

/** A style writes a field as it writes a parameter of a query; without one, maps are JSON (OpenAPI 3.1, 4.8.15.1). */
function encodeField(key: string, value: unknown, encoding: FieldEncoding | undefined): string[] {
  const { style, explode, contentType = "" } = encoding ?? {};
  if (style !== undefined || explode !== undefined) {
    const named = style ?? "form";
    return pairs(key, withoutNulls(value), named, explode ?? named === "form", encode);
  }
  const isJson = /\bjson\b/i.test(contentType);
  const parts = Array.isArray(value) && !isJson ? value.filter((each) => each !== null) : [value];
  return parts.map((part) => `${encode(key)}=${encode(isJson ? writeJson(part) : plain(part))}`);
}
