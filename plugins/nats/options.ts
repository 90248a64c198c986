import { z } from "zod";
import { natsAccess } from "./access.ts";
import { natsOf, type NatsSettings } from "./settings.ts";

/** Options of the nats plugin. */
export const optionsSchema = z.strictObject({
  prefix: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,32}$/, "must be 1 to 32 letters, digits, - and _")
    .default("propylon")
    .describe(
      "How the names of streams and subjects begin. Gateways with the same prefix share a store; deployments that share servers have one each.",
    ),
  ...natsAccess,
});

/** {@link optionsSchema} filled in. */
export type NatsOptions = z.output<typeof optionsSchema>;

/**
 * Options with the addresses of the config's `store` and the environment.
 *
 * @param folder where relative files start from
 * @throws {GatewayError} `invalid` for invalid servers, two identities at once, or half of a pair
 */
export function natsSettingsOf(options: NatsOptions, store: string, folder: string): NatsSettings {
  const url = store.split(",").map((each) => each.trim());
  return natsOf({ ...options, url }, process.env, folder)!;
}
