/** Whether a config is text that an edit keeps the comments of. */
export function isEditable(file: string): boolean {
  return /\.(?:ya?ml|json)$/i.test(file);
}

/** Whether a config is text. */
export function isText(file: string): boolean {
  return /\.(?:ya?ml|json[5c]?|toml)$/i.test(file);
}

/** Whether a config is code. */
export function isCode(file: string): boolean {
  return /\.[cm]?[jt]s$/i.test(file);
}

const ENDINGS = ["yaml", "yml", "json", "json5", "jsonc", "toml", "ts", "mts", "js", "mjs"];

/** Names of a config, in the order in which they are looked for when no file is given. */
export const CONFIG_NAMES: readonly string[] = ["gateway", "gateway.config"].flatMap((name) =>
  ENDINGS.map((ending) => `${name}.${ending}`),
);
