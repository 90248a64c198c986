/** Longest name that models' interfaces take for a tool. */
const MAX_NAME = 64;
/** How much of a text is looked at. */
const MAX_TEXT = 256;

/**
 * A text as the name of a tool, in `[A-Za-z0-9_.-]` and at most 64 characters; empty where nothing is left of it.
 *
 * @example const name = toToolName("GET /pets/{id}"); // "GET_pets_id"
 */
export function toToolName(text: string): string {
  // Cut first: a long run of underscores would be looked through once for each of them.
  return text
    .slice(0, MAX_TEXT)
    .replaceAll(/[^A-Za-z0-9_.-]+/g, "_")
    .replaceAll(/^_+|_+$/g, "")
    .slice(0, MAX_NAME);
}

/**
 * A name, with a number at its end where it is taken; at most 64 characters.
 *
 * @example const free = uniqueName("search", (name) => tools.has(name)); // "search_2"
 */
export function uniqueName(name: string, isTaken: (name: string) => boolean): string {
  let free = name;
  for (let count = 2; isTaken(free); count++) {
    const suffix = `_${count}`;
    free = `${name.slice(0, MAX_NAME - suffix.length)}${suffix}`;
  }
  return free;
}
