import { digestOf } from "propylon/kit";

const PLAIN = /^[A-Za-z0-9_-]{1,96}$/;

/**
 * A task's id as one token of a subject. Ids come from anybody, and a dot, a star or a space in one would make it another subject:
 * such an id is encoded, a long one digested. Two ids never share a token: `~` is in none that is left as it is.
 */
export function tokenOf(id: string): string {
  if (PLAIN.test(id)) return id;
  const encoded = Buffer.from(id, "utf8").toString("base64url");
  if (encoded.length <= 128) return `~${encoded}`;
  return `~~${digestOf(id)}`;
}
