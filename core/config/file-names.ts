/** Whether a config is text, and so can be edited. */
export function isText(file: string): boolean {
  return /\.(?:ya?ml|json)$/i.test(file);
}

/** Whether a config is code. */
export function isCode(file: string): boolean {
  return /\.m?[jt]s$/i.test(file);
}

/** Names of a config, in the order in which they are looked for when no file is given. */
export const CONFIG_NAMES = [
  "gateway.yaml",
  "gateway.yml",
  "gateway.json",
  "gateway.ts",
  "gateway.mts",
  "gateway.js",
] as const;
