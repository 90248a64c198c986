/** Names of a config, in the order in which they are looked for when no file is given. */
export const CONFIG_NAMES = [
  "gateway.yaml",
  "gateway.yml",
  "gateway.json",
  "gateway.ts",
  "gateway.mts",
  "gateway.js",
] as const;
