import { z } from "zod";

/** Schema of the options. */
export const optionsSchema = z.strictObject({
  httpClient: z
    .enum(["builtin", "undici"])
    .default("builtin")
    .describe(
      "Which HTTP client asks servers with a `url`: the gateway's own, or undici, which costs more. Servers with a `proxy` always use undici.",
    ),
});

/** {@link optionsSchema} filled in. */
export type ServersOptions = z.output<typeof optionsSchema>;
