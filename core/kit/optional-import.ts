import { GatewayError } from "./errors.ts";

/**
 * Imports packages that are installed only where they are needed.
 *
 * @param load with `import()` of names as texts, so that a build finds them
 * @param need who needs them, as a sentence
 * @param packages what is to be installed
 * @throws {GatewayError} `invalid` when one is missing; its hint is the command that installs them
 * @example
 * const { Redis } = await importOptional(() => import("ioredis"), "A store in Redis needs its client.", ["ioredis"]);
 */
export async function importOptional<T>(
  load: () => Promise<T>,
  need: string,
  packages: readonly string[],
): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new GatewayError("invalid", need, {
      hint: `Run: npm install ${packages.join(" ")}`,
      cause,
    });
  }
}
