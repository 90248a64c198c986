import { durationSchema, sizeSchema } from "propylon";
import { z } from "zod";

/** RFC 9110 section 5.6.2. */
export const TOKEN: RegExp = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** What a header value may hold: no line break, or a value could add headers of its own. */
export const HEADER_VALUE: RegExp = /^[\t\x20-\x7e\x80-\xff]*$/;

const patterns = (what: string) => z.array(z.string().min(1)).optional().describe(what);

/** Options of an entry of `servers` with `type: openapi`, besides those that every entry has. */
export const apiOptions = z.strictObject({
  spec: z
    .string()
    .min(1)
    .describe("OpenAPI 3.0 or 3.1 document, JSON or YAML: a URL, or a file beside the config."),
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      "Where the API is; default: the first server of the document, if it has the host of the document's URL.",
    ),
  headers: z
    .record(z.string().regex(TOKEN), z.string().regex(HEADER_VALUE))
    .default({})
    .describe("Headers sent with every request, e.g. Authorization."),
  operations: z
    .strictObject({
      include: patterns("Only these."),
      exclude: patterns("Not these."),
    })
    .optional()
    .describe(
      "Which operations become tools, by operationId, `GET /path` or `tag:name` (`*` matches any run of characters).",
    ),
  refresh: durationSchema()
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
