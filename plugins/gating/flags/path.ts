import { basename, extname, join, resolve } from "node:path";

/** Name of the state file where there is no config file to name it after. */
const NAMELESS = "mcpo_state.json";

/**
 * Where the state file is: beside the config file and named after it, or where the option says.
 *
 * @param folder where relative paths of the config start
 * @returns absolute path; `undefined` = memory only
 */
export function statePath(
  option: boolean | string | undefined,
  folder: string,
  configFile: string | undefined,
): string | undefined {
  if (option === false) return undefined;
  if (typeof option === "string") return resolve(folder, option);
  if (configFile !== undefined)
    return join(folder, `${basename(configFile, extname(configFile))}_state.json`);
  return option === true ? join(folder, NAMELESS) : undefined;
}
