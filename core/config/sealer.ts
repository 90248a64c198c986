import { randomBytes } from "node:crypto";
import { z } from "zod";
import type { Environment } from "./variables.ts";
import { GatewayError } from "../kit/errors.ts";
import { readVariable } from "./env.ts";
import { Fernet } from "../kit/fernet.ts";

/** Where keys are looked for that the config does not name. */
const VARIABLES = ["MNEMOSYNE_FERNET_KEY", "SECRET_KEY"];

/**
 * The option `secretKeys` of a plugin that seals secrets: what {@link createSealer} is given.
 *
 * @example const optionsSchema = z.strictObject({ secretKeys: secretKeysSchema });
 */
export const secretKeysSchema = z
  .array(z.string().min(32))
  .max(1_000)
  .min(1)
  .optional()
  .describe(
    "Keys that seal secrets in the database: Fernet keys, or texts of at least 32 characters. The first seals, all of them open. Default: the variables `MNEMOSYNE_FERNET_KEY` and `SECRET_KEY`, as far as they are set.",
  );

/**
 * What a plugin seals its secrets at rest with: the keys of its options, else those of the environment (`MNEMOSYNE_FERNET_KEY`, then
 * `SECRET_KEY`).
 *
 * @param plugin its name in the config
 * @throws {GatewayError} `invalid` without a key, and for one that can be guessed
 * @example const sealer = createSealer("console", gateway.config.secretKeys);
 */
export function createSealer(
  plugin: string,
  secretKeys: readonly string[] | undefined,
  environment: Environment = process.env,
): Fernet {
  const found = VARIABLES.map((name) => readVariable(environment, name));
  const keys = secretKeys ?? found.filter((key) => key !== undefined);
  if (keys.length > 0) return new Fernet(keys);
  throw new GatewayError("invalid", `There is no key to seal the secrets of ${plugin} with.`, {
    hint: `Set SECRET_KEY in the environment, or plugins.${plugin}.secretKeys, to at least 32 random characters.`,
  });
}

/**
 * Seals secrets that need not outlive the process, for a plugin that was given no key to seal with. Its key stands nowhere else, and
 * is the same for as long as the process runs: what lies in a store of memory is still there after a reload, and can be opened.
 *
 * @example const sealer = store.durable ? createSealer("mine", config.secretKeys) : passingSealer;
 */
export const passingSealer: Fernet = new Fernet([randomBytes(32).toString("base64url")]);
