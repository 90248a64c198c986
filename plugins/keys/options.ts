import { credentialsSchema } from "propylon/internal";
import type { z } from "zod";

/** Schema of the options: what of the config's `auth` are credentials. */
export const optionsSchema = credentialsSchema;

/** Options as the schema reads them. */
export type KeysOptions = z.output<typeof optionsSchema>;
