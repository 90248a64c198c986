import { randomBytes } from "node:crypto";
import { isObject, writeJson } from "propylon/kit";
import { type EncodedBody, entriesOf } from "./encode.ts";
import type { FieldEncoding } from "./reading/operations.ts";
import type { SentBody } from "./reading/tool.ts";
import { pairs, plain, withoutNulls } from "./styles.ts";
import { decodeUpload } from "./upload.ts";

/** One part: its name, the other parameters of its disposition, its type, and its content. */
interface Part {
  readonly name: string;
  readonly filename?: string | undefined;
  readonly contentType?: string | undefined;
  readonly content: Buffer;
}

/**
 * Writes a multipart body: a part for each property, and for each value of a list; or the parts that a list is.
 *
 * @throws {WrongArgument} for a value that cannot be written so
 */
export function encodeMultipart(contentType: string, value: unknown, body: SentBody): EncodedBody {
  const boundary = `propylon-${randomBytes(16).toString("hex")}`;
  const parts = Array.isArray(value)
    ? value.map((each: unknown) => namedPart(each))
    : entriesOf(value).flatMap(([key, part]) => partsOf(key, part, body));
  const type = contentType.split(";", 1)[0]!.trim();
  return {
    contentType: `${type}; boundary=${boundary}`,
    content: Buffer.concat([
      ...parts.flatMap((part) => writePart(boundary, part)),
      Buffer.from(`--${boundary}--\r\n`),
    ]),
  };
}

/** A part of a list says its own name; `file` is what most APIs call it. */
function namedPart(value: unknown): Part {
  const name = isObject(value) && typeof value["name"] === "string" ? value["name"] : "file";
  return filePart(name, value, undefined);
}

function partsOf(name: string, value: unknown, { files, encoding }: SentBody): Part[] {
  const how = encoding[name];
  if (files.includes(name))
    return (Array.isArray(value) ? value : [value]).map((each) => filePart(name, each, how));
  const { style, explode } = how ?? {};
  if (style !== undefined || explode !== undefined) return styledParts(name, value, how!);
  const isJson = /\bjson\b/i.test(how?.contentType ?? "");
  const values = Array.isArray(value) && !isJson ? value.filter((each) => each !== null) : [value];
  return values.map((each) => valuePart(name, each, how));
}

function filePart(name: string, value: unknown, how: FieldEncoding | undefined): Part {
  const { bytes, filename = name, contentType } = decodeUpload(name, value);
  const type = contentType ?? typeOf(how) ?? "application/octet-stream";
  return { name, filename, contentType: type, content: bytes };
}

function valuePart(name: string, value: unknown, how: FieldEncoding | undefined): Part {
  const type = typeOf(how) ?? (typeof value === "object" ? "application/json" : undefined);
  const text = /\bjson\b/i.test(type ?? "") ? writeJson(value) : plain(value);
  return { name, contentType: type, content: Buffer.from(text) };
}

/** As a query would have it, in parts (OpenAPI 3.1, 4.8.15.2). */
function styledParts(
  name: string,
  value: unknown,
  { style = "form", explode }: FieldEncoding,
): Part[] {
  const asItIs = (text: string): string => text;
  return pairs(name, withoutNulls(value), style, explode ?? style === "form", asItIs).map(
    (pair) => {
      const at = pair.indexOf("=");
      return { name: pair.slice(0, at), content: Buffer.from(pair.slice(at + 1)) };
    },
  );
}

/** A list of types, or a range, leaves the choice; the first that can be sent is as good as any. */
function typeOf(how: FieldEncoding | undefined): string | undefined {
  return how?.contentType
    ?.split(",")
    .map((type) => type.trim())
    .find((type) => /^[\w.+-]+\/[\w.+-]+$/.test(type));
}

function writePart(boundary: string, { name, filename, contentType, content }: Part): Buffer[] {
  const head = [
    `--${boundary}`,
    `content-disposition: form-data; name="${quote(name)}"${filename === undefined ? "" : `; filename="${quote(filename)}"`}`,
    ...(contentType === undefined ? [] : [`content-type: ${contentType}`]),
  ];
  return [Buffer.from(`${head.join("\r\n")}\r\n\r\n`), content, Buffer.from("\r\n")];
}

/** As browsers write it (WHATWG, multipart/form-data encoding): a line break or quote would end the name. */
function quote(name: string): string {
  return name.replaceAll("\r", "%0D").replaceAll("\n", "%0A").replaceAll('"', "%22");
}
