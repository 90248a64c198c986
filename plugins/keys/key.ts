import type { Role } from "propylon";
import { createSecret, hasChecksum } from "propylon/internal";

const SHAPE = /^ppl_[vcoas]_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/;

/**
 * A new key: `ppl_<first letter of the role>_<43 random characters>_<checksum>`. The prefix is for secret scanners, the letter
 * for people: what a key may do stands in the config alone.
 */
export function createKey(role: Role): string {
  return createSecret(`ppl_${role.charAt(0)}`);
}

/** Whether a text was meant as one of our keys and lost or changed a character on the way. */
export function isMistyped(text: string): boolean {
  return text.startsWith("ppl_") && !(SHAPE.test(text) && hasChecksum(text));
}
