import { z } from "zod";

const file = z.string().min(1);

/**
 * Options of everything that uses NATS: how we authenticate there, and how streams are made.
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
      "Whether to create missing streams and consumers, or to report an error. Existing ones are never changed.",
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
