import { durationSchema } from "propylon";
import { z } from "zod";

/** Schema of the options. */
export const optionsSchema = z.strictObject({
  interval: durationSchema()
    .default(15_000)
    .describe(
      "Time between two probes of a server, give or take a tenth. A bare number is seconds.",
    ),
  timeout: durationSchema()
    .default(3_000)
    .describe("How long a probe or a check of a model's provider may take."),
  slow: durationSchema()
    .default(2_000)
    .describe("Average time of a server's last probes above which it counts as slow."),
  preflightInterval: durationSchema()
    .default(60_000)
    .describe("Time between two checks of an agent's model provider."),
  allDown: z
    .enum(["error", "degraded"])
    .default("error")
    .describe("State of an agent when none of its servers can be reached."),
  path: z.string().startsWith("/").default("/healthz").describe("Path of the public page."),
  access: z
    .enum(["public", "viewer"])
    .default("public")
    .describe("Who may read the page. Reasons are for viewers in any case."),
});

/** Options, durations in milliseconds. */
export type HealthOptions = z.infer<typeof optionsSchema>;
