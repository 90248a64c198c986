import { z } from "zod";

/** Options of the admin plugin. */
export const optionsSchema = z.strictObject({
  allowedCommands: z
    .array(z.array(z.string().min(1)).min(1))
    .default([])
    .describe(
      "Commands that the API may add as servers, each as the list of the executable and its arguments; a request must match one of them word for word. Default: none.",
    ),
  allowUnsafeCommands: z
    .boolean()
    .default(false)
    .describe(
      "Let the API add servers with any command but code in arguments, such as sh -c. Everyone who may add servers may then run programs on this machine. Also --allow-unsafe-commands.",
    ),
  allowedAddresses: z
    .array(z.string().min(1))
    .default([])
    .describe(
      "Host names, addresses and networks such as 10.1.0.0/16 that servers added over the API may have besides public ones. Default: none.",
    ),
  allowConfigEdits: z
    .boolean()
    .default(false)
    .describe(
      "Let the API edit the config file. Everyone who may then runs programs on this machine and reads its variables, as the writer of the file does.",
    ),
  settleTimeout: z
    .number()
    .min(0)
    .max(600)
    .default(10)
    .describe(
      "How long adding a server waits for its first connection before it answers, in seconds; the server goes on connecting.",
    ),
});

/** {@link optionsSchema} filled in. */
export type AdminOptions = z.output<typeof optionsSchema>;
