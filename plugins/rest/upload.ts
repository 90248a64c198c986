import { isObject } from "propylon/kit";
import { WrongArgument } from "./encode.ts";

/** A media type without line breaks, which would begin another header. */
const MEDIA_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}(?:; ?[\w.+-]{1,50}="?[\w.+ -]{1,100}"?)*$/;

/** Bytes of an argument, with what was said of them. */
export interface Upload {
  readonly bytes: Buffer;
  readonly filename: string | undefined;
  readonly contentType: string | undefined;
}

/**
 * Reads an argument of bytes: base64, or that with a name and a type.
 *
 * @throws {WrongArgument} for anything else
 */
export function decodeUpload(argument: string, value: unknown): Upload {
  const { data, filename, contentType } = isObject(value)
    ? value
    : { data: value, filename: undefined, contentType: undefined };
  const type = textOf(contentType);
  if (type !== undefined && !MEDIA_TYPE.test(type))
    throw new WrongArgument(`The contentType of "${argument}" is not a media type.`);
  return { bytes: decodeBase64(argument, data), filename: textOf(filename), contentType: type };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function decodeBase64(name: string, value: unknown): Buffer {
  if (typeof value === "string" && /^[A-Za-z0-9+/_-]*={0,2}$/.test(value))
    return Buffer.from(value, "base64");
  throw new WrongArgument(`"${name}" must be bytes as base64.`);
}
