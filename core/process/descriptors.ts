import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";

/** Of a spawn: three pairs of sockets and the pipe that reports a failed exec; and as much again for the reaper. */
const NEEDED = 12;

/**
 * Makes sure that a spawn in this tick will not run out of descriptors half-way: Node keeps those it opened until then for
 * ever, so every attempt would make it worse.
 * @throws {Error} with code `EMFILE` or `ENFILE`
 */
export function ensureDescriptors(): void {
  const taken: number[] = [];
  try {
    while (taken.length < NEEDED) taken.push(openSync(devNull, "r"));
  } finally {
    for (const descriptor of taken) closeSync(descriptor);
  }
}
