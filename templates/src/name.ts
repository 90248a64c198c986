import { basename, resolve } from "node:path";
import { Failure } from "./failure.ts";

/** A name that npm, Docker and Kubernetes take. */
const NAME = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** What YAML reads as something other than text: `name: no` is not a name to Kubernetes. */
const WORDS: ReadonlySet<string> = new Set([
  "true",
  "false",
  "null",
  "yes",
  "no",
  "on",
  "off",
  "y",
  "n",
]);

/**
 * The name of a project: the one that is asked for, else that of its directory.
 *
 * @throws {Failure} when it cannot be one, with one that could
 */
export function nameOf(directory: string, wish?: string): string {
  const name = wish ?? basename(resolve(directory));
  if (NAME.test(name) && !WORDS.has(name)) return name;
  const better = suggest(name);
  const step = wish === undefined ? `add --name ${better}` : `try ${better}`;
  throw new Failure(
    `"${name}" cannot be the name of a project: use lower-case letters, digits and hyphens, a letter first, at most 63. Rename the directory, or ${step}.`,
  );
}

function suggest(name: string): string {
  const plain = name
    .normalize("NFKD")
    .replaceAll(/\p{Mark}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^[^a-z]+|-+$/g, "")
    .slice(0, 63)
    .replace(/-+$/, "");
  if (plain === "") return "my-gateway";
  return WORDS.has(plain) ? `${plain}-gateway` : plain;
}
