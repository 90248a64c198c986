import { durationSchema } from "propylon";
import { z } from "zod";

const period = () => durationSchema().refine((ms) => ms > 0, { message: "must be more than zero" });

const timeoutsSchema = z
  .strictObject({
    default: period()
      .optional()
      .describe(
        "How long a call may run by default; a bare number is seconds. Default: the gateway's timeouts.default. Also --tool-timeout.",
      ),
    max: period()
      .default(600_000)
      .describe(
        "Longest run of any call, for every caller; a bare number is seconds. Also --tool-timeout-max.",
      ),
    overMax: z
      .enum(["clamp", "reject"])
      .default("clamp")
      .describe("What happens to a request that asks for more than max: it gets max, or an error."),
    idle: period()
      .optional()
      .describe(
        "Longest time without a progress report; a bare number is seconds. Default: no such bound. Progress is then asked of the server even when the caller did not ask for it.",
      ),
    servers: z
      .record(z.string(), period())
      .default({})
      .describe("Per server, by its name in the config; a bare number is seconds."),
    tools: z
      .record(z.string().regex(/^[^/]+\/.+$/, "must be server/tool"), period())
      .default({})
      .describe(
        "Per tool, as server/tool with its name at its own server; a bare number is seconds.",
      ),
  })
  .superRefine(({ default: fallback = 0, max, servers, tools }, ctx) => {
    const all = { default: fallback, ...servers, ...tools };
    for (const [name, ms] of Object.entries(all))
      if (ms > max)
        ctx.addIssue({ code: "custom", message: `${name} is more than max, ${max / 1_000} s` });
  });

/** Options of the gating plugin. */
export const optionsSchema = z.strictObject({
  timeouts: timeoutsSchema.prefault({}).describe("How long calls may run."),
  state: z
    .union([z.boolean(), z.string().min(1)])
    .optional()
    .describe(
      "File that remembers what is switched off: a path (relative to the config file), or false for memory only. Default: the gateway's store where that outlives the process, else `<config>_state.json` beside the config file, and memory only without one; true: mcpo_state.json in the working directory when there is no config file.",
    ),
  reserved: z
    .record(z.string().regex(/^[^/]+\/.+$/, "must be server/tool"), z.enum(["operator", "admin"]))
    .default({})
    .describe(
      "Tools that are there only for principals of a role, as server/tool; * stands for any text. For everybody else there is no such tool.",
    ),
  mcpoCompat: z
    .boolean()
    .default(false)
    .describe("Refuses timeouts as mcpo does: 400 invalid_timeout instead of 422 invalid."),
});

/** The options as the plugin sees them. */
export type GatingOptions = z.output<typeof optionsSchema>;
