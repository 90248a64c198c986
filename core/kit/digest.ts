import { hash } from "node:crypto";

/**
 * The SHA-256 of a content in hexadecimal. Of a secret it is kept in place of it: who reads the file or the store learns nothing. A salt
 * would add nothing to 256 random bits, and a password needs another function.
 *
 * @example const known = keys.get(digestOf(key));
 */
export function digestOf(content: string | Uint8Array): string {
  return hash("sha256", content);
}
