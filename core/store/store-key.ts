import { writeJson } from "../kit/exact-json.ts";
import { digestOf } from "../kit/digest.ts";
import { GatewayError } from "../kit/errors.ts";

const NAME = /^[\w./-]{1,64}$/;
const KEY = /^[\x21-\x7e]{1,512}$/;
const MAX_KEY = 512;
/** Longest value in bytes: that of a task at its default bound, and some. */
const MAX_VALUE = 32 * 1024 * 1024;
const MAX_MESSAGE = 8_000;

/**
 * A key of anything: its parts, in which whatever keys cannot hold is encoded, with slashes between; a digest of all that where it
 * would be too long. No two lists of parts make one key.
 *
 * @example storeKey("jwt:https://login.example#anna", "inbox"); // "jwt:https:%2f%2flogin.example#anna/inbox"
 */
export function storeKey(...parts: readonly string[]): string {
  const key = parts.map((part) => encodePart(part)).join("/");
  // Ids of clients and names of principals may be longer than a key can be.
  return key.length <= MAX_KEY ? key : `sha256:${digestOf(key)}`;
}

function encodePart(part: string): string {
  return part.replaceAll(/[^\x21-\x7e]|[%/]/g, (unit) => {
    const hex = unit.charCodeAt(0).toString(16);
    return hex.length <= 2 ? `%${hex.padStart(2, "0")}` : `%u${hex.padStart(4, "0")}`;
  });
}

/** The name of a plugin's bucket, log or topic. */
export function scopedName(owner: string, name: string): string {
  if (NAME.test(name)) return `${owner}/${name}`;
  throw new GatewayError("invalid", `${JSON.stringify(name)} cannot name a part of the store.`, {
    hint: "Use at most 64 letters, digits and ._-/",
  });
}

/** @throws {GatewayError} `too_large`, `invalid` */
export function checkKey(key: string): string {
  if (KEY.test(key)) return key;
  if (key.length > MAX_KEY)
    throw new GatewayError("too_large", "A key of the store has at most 512 characters.");
  throw new GatewayError("invalid", `${JSON.stringify(key)} cannot be a key of the store.`, {
    hint: "Make keys with storeKey of propylon/store.",
  });
}

/** The JSON text of a value with the version of its form in front. */
export function encodeValue(value: unknown, version: number): string {
  const text = `${version}:${writeJson(value)}`;
  // A character takes three bytes at most.
  if (text.length <= MAX_VALUE / 3) return text;
  if (text.length <= MAX_VALUE && Buffer.byteLength(text) <= MAX_VALUE) return text;
  throw new GatewayError("too_large", "A value of the store has at most 32 MiB.", {
    data: { bytes: Buffer.byteLength(text) },
  });
}

/** @throws {GatewayError} `too_large` */
export function encodeMessage(message: unknown): string {
  const text = writeJson(message);
  if (Buffer.byteLength(text) <= MAX_MESSAGE) return text;
  throw new GatewayError("too_large", "A message between gateways has at most 8 KB.");
}
