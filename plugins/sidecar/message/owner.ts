import { digestOf } from "propylon/kit";
import { headerOf, OWNER } from "./headers.ts";
import type { Headers } from "./transport.ts";

/** Characters of an id that are left to be read in what is made of it. */
const READABLE = 40;
/** What stands in a header as it is: a server trims blanks, and a line break would begin another header. */
const PLAIN = /^[\x21-\x7d]+$/;

/** A task as somebody calls it. */
export interface TaskName {
  readonly id: string;
  /** `ref` of the principal who handed it in; `undefined`: it came over NATS, and nobody said. */
  readonly owner: string | undefined;
}

/**
 * What nobody but its owner can name. Ids are chosen by callers: the same one of two owners is two tasks, or two conversations, in the
 * ledger, in the queue and at the runtime, which sees one client and would go on with the other's.
 */
export function scopedId({ id, owner }: TaskName): string {
  if (owner === undefined) return id;
  const readable = id.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, READABLE);
  return `${readable}-${digestOf(JSON.stringify([owner, id])).slice(0, 32)}`;
}

/** An owner as the value of a header; two of them never have the same. */
export function writeOwner(owner: string): string {
  return PLAIN.test(owner) ? owner : `~${Buffer.from(owner, "utf16le").toString("base64url")}`;
}

/** The owner that {@link writeOwner} wrote. */
export function readOwner(headers: Headers): string | undefined {
  const value = headerOf(headers, OWNER);
  return value?.startsWith("~")
    ? Buffer.from(value.slice(1), "base64url").toString("utf16le")
    : value;
}
