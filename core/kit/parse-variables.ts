import { parseEnv } from "node:util";

/**
 * The variables of a `.env` file. Editors of Windows begin a file with a byte order mark, which would be part of the first name.
 *
 * @example const { TOKEN } = parseVariables(await readFile(".env", "utf8"));
 */
export function parseVariables(text: string): Record<string, string | undefined> {
  return parseEnv(text.replace(/^\uFEFF/, ""));
}
