import { z } from "zod";
import { natsOf, type NatsSettings } from "./settings.ts";

const file = z.string().min(1);

/**
 * Options of everything that uses NATS: who we are there, and how streams are made.
 *
 * @example const natsSchema = z.strictObject({ url: z.string(), ...natsAccess });
 */
export const natsAccess = {
  credentials: file
    .optional()
    .describe("File with the user's credentials (.creds). Default: $NATS_CREDS."),
  nkey: file
    .optional()
    .describe("File with the seed of the user's nkey (SU...). Default: $NATS_NKEY."),
  token: z.string().min(1).optional().describe("Token. Default: $NATS_TOKEN."),
  user: z.string().min(1).optional().describe("User. Default: $NATS_USER."),
  password: z.string().min(1).optional().describe("Password. Default: $NATS_PASSWORD."),
  tls: z
    .strictObject({
      ca: file.optional().describe("File with the authority's certificate. Default: $NATS_CA."),
      cert: file.optional().describe("File with our certificate. Default: $NATS_CERT."),
      key: file.optional().describe("File with our private key. Default: $NATS_KEY."),
    })
    .prefault({})
    .describe("Certificates; files are relative to the config file. Any of them demands TLS."),
  provision: z
    .enum(["create", "verify"])
    .default("create")
    .describe(
      "Whether missing streams and consumers are created, or are an error. What is there is never changed.",
    ),
  replicas: z.int().min(1).max(5).default(1).describe("Copies of each stream that is created."),
};

/**
 * {@link natsAccess} filled in, and where NATS is.
 *
 * @example const access: NatsAccess = { ...gateway.config, url: "nats://127.0.0.1:4222" };
 */
export type NatsAccess = z.output<z.ZodObject<typeof natsAccess>> & {
  readonly url?: string | readonly string[] | undefined;
};

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
 * @throws {GatewayError} `invalid` for servers that are none, two identities at once, or half of a pair
 */
export function settingsOf(options: NatsOptions, store: string, folder: string): NatsSettings {
  const url = store.split(",").map((each) => each.trim());
  return natsOf({ ...options, url }, process.env, folder)!;
}
