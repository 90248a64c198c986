import { relative, sep } from "node:path";

/** A path as a build knows it: relative to the folder of the config, with `/`. */
export function keyOf(folder: string, file: string): string {
  return relative(folder, file).split(sep).join("/");
}
