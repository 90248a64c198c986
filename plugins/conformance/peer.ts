import { GatewayError } from "propylon";

/**
 * Loads a package that the kit needs and a gateway does not.
 * @throws {GatewayError} `invalid`, naming what to install
 */
export async function loadPeer<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== "ERR_MODULE_NOT_FOUND" && code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") throw error;
    throw new GatewayError("invalid", `The package ${name} is not installed.`, {
      hint: `Run npm install ${name}.`,
    });
  }
}
