/** Longest name that models' interfaces take for a function. */
const MAX_NAME = 64;

/** A name as generated code and models' interfaces take it: `[A-Za-z0-9_]`, at most 64 characters. */
export function toOperationName(name: string): string {
  return name.slice(0, MAX_NAME).replaceAll(/[^A-Za-z0-9_]+/g, "_");
}

/** The name, with a number at its end where it is taken. */
export function unique(name: string, isTaken: (name: string) => boolean): string {
  let free = name;
  for (let count = 2; isTaken(free); count++) {
    const suffix = `_${count}`;
    free = `${name.slice(0, MAX_NAME - suffix.length)}${suffix}`;
  }
  return free;
}
