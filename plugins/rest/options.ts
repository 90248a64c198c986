import { durationSchema, sizeSchema } from "propylon";
import { headersSchema } from "propylon/internal";
import { z } from "zod";

const patterns = (what: string) => z.array(z.string().min(1)).optional().describe(what);

/** Options of an entry of `servers` with `type: openapi`, besides those that every entry has. */
export const apiOptions = z.strictObject({
  spec: z
    .string()
    .min(1)
    .describe(
      "OpenAPI 3.0 or 3.1 document, JSON or YAML: a URL, or a file relative to the config.",
    ),
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      "Where the API is; default: the first server of the document, if it has the host of the document's URL. Its query is sent with every request.",
    ),
  headers: headersSchema()
    .default({})
    .describe(
      "Headers sent with every request, e.g. Authorization, and with that for the document if it is on the host of the API.",
    ),
  operations: z
    .strictObject({
      include: patterns("Only these."),
      exclude: patterns("Not these."),
    })
    .optional()
    .describe(
      'Which operations become tools, by operationId, "GET /path" or tag:name; * matches any run of characters.',
    ),
  outputSchemas: z
    .enum(["strict", "loose", "off"])
    .default("loose")
    .describe(
      "What tools say of their results: loose = names and descriptions, which no answer can break; strict = what the document says, so that clients refuse an answer that deviates; off = nothing.",
    ),
  refreshInterval: durationSchema()
    .default(300_000)
    .describe("How often the document is read again; a bare number is seconds. 0 = never."),
  connectTimeout: durationSchema()
    .default(10_000)
    .describe("Longest connect, and longest reading of the document; a bare number is seconds."),
  maxResult: sizeSchema()
    .default(16 * 1024 * 1024)
    .describe("Largest response, and largest document; a bare number is bytes."),
});

/** Checked options: durations in milliseconds, sizes in bytes. */
export type ApiOptions = z.output<typeof apiOptions>;
