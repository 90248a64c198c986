import { randomBytes } from "node:crypto";
import type { Json } from "propylon";
import { isObject } from "propylon/kit";
import { plain } from "./styles.ts";

/** A body ready to send. */
export interface EncodedBody {
  readonly contentType: string;
  readonly content: string | Buffer;
}

/**
 * Writes a body in a content type.
 *
 * @param properties schemas of the body's properties; those of format `binary` are base64 here and bytes there
 * @throws {WrongArgument} for a value that cannot be written so
 */
export function encodeBody(contentType: string, value: unknown, properties: Json): EncodedBody {
  if (/^application\/(?:[\w.-]+\+)?json\b/i.test(contentType))
    return { contentType, content: JSON.stringify(value) };
  if (/^application\/x-www-form-urlencoded\b/i.test(contentType))
    return { contentType, content: encodeForm(value) };
  if (/^multipart\/form-data\b/i.test(contentType)) return encodeMultipart(value, properties);
  if (/^text\/|\bxml\b/i.test(contentType)) return { contentType, content: plain(value) };
  return { contentType, content: decodeBase64("body", value) };
}

function encodeForm(value: unknown): string {
  const form = new URLSearchParams();
  for (const [key, part] of entriesOf(value))
    for (const each of Array.isArray(part) ? part : [part]) form.append(key, plain(each));
  return form.toString();
}

function encodeMultipart(value: unknown, properties: Json): EncodedBody {
  const boundary = `propylon-${randomBytes(16).toString("hex")}`;
  const parts: Buffer[] = [];
  for (const [key, part] of entriesOf(value))
    for (const each of Array.isArray(part) ? part : [part])
      parts.push(encodePart(boundary, key, each, properties[key]));
  parts.push(Buffer.from(`--${boundary}--\r\n`));
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    content: Buffer.concat(parts),
  };
}

function encodePart(boundary: string, key: string, value: unknown, schema: unknown): Buffer {
  const name = quote(key);
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="${name}"`;
  const [more, content] = isBinary(schema)
    ? [`; filename="${name}"\r\ncontent-type: application/octet-stream`, decodeBase64(key, value)]
    : [isObject(value) ? "\r\ncontent-type: application/json" : "", Buffer.from(plain(value))];
  return Buffer.concat([Buffer.from(`${head}${more}\r\n\r\n`), content, Buffer.from("\r\n")]);
}

/** As browsers write it (WHATWG, multipart/form-data encoding): a line break or quote would end the name. */
function quote(name: string): string {
  return name.replaceAll("\r", "%0D").replaceAll("\n", "%0A").replaceAll('"', "%22");
}

function isBinary(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  const items = schema["items"];
  return (
    schema["format"] === "binary" ||
    schema["contentMediaType"] === "application/octet-stream" ||
    (items !== undefined && isBinary(items))
  );
}

function decodeBase64(name: string, value: unknown): Buffer {
  if (typeof value === "string" && /^[A-Za-z0-9+/_-]*={0,2}$/.test(value))
    return Buffer.from(value, "base64");
  throw new WrongArgument(`"${name}" must be bytes as base64.`);
}

function entriesOf(value: unknown): [string, unknown][] {
  if (!isObject(value)) throw new WrongArgument('"body" must be an object.');
  return Object.entries(value).filter(([, part]) => part !== undefined && part !== null);
}

/** An argument that cannot be sent. The tool's own failure, said to the model so that it can try again. */
export class WrongArgument extends Error {
  override readonly name = "WrongArgument";
}
