import { durationSchema, sizeSchema } from "propylon";
import { z } from "zod";

/** How a successful answer looks; see {@link import("./call/reply.ts").renderResult}. */
export const FORMATS = ["envelope", "result", "raw"] as const;

/** One of {@link FORMATS}. */
export type Format = (typeof FORMATS)[number];

/** Options of the plugin. */
export const optionsSchema = z.strictObject({
  format: z
    .enum(FORMATS)
    .default("envelope")
    .describe(
      "Body of a successful call: envelope is {ok, result, output}, result is {ok, result}, raw is the bare value, as mcpo returns it. A request chooses with X-Result-Format.",
    ),
  toolFailureStatus: z
    .int()
    .min(200)
    .max(599)
    .default(502)
    .describe(
      "HTTP status of an answer in which a tool reports its own failure. 200 is for clients that show a model the body of a success only; the body still says `ok: false`.",
    ),
  validate: z
    .boolean()
    .default(true)
    .describe("Check arguments against the tool's input schema before the server is asked."),
  coerce: z
    .boolean()
    .default(false)
    .describe(
      'Take "1" for 1 and "true" for true where the input schema wants a number or a boolean, as mcpo does.',
    ),
  root: z
    .string()
    .optional()
    .describe(
      "Server that is also served at the root: `POST /<tool>`, and /openapi.json is its document, as of mcpo with one server.",
    ),
  forwardHeaders: z
    .record(
      z.string(),
      z.strictObject({
        allow: z.array(z.string().min(1)).describe("Names; `*` matches any run of characters."),
        deny: z.array(z.string().min(1)).default([]).describe("The same; beats allow."),
      }),
    )
    .default({})
    .describe(
      "Headers of clients that a server gets with a call, by server, as `_meta.headers`. Never what is for the gateway: its credentials, cookies and headers of the connection. Names that look like a credential, those of proxies as well, only where `allow` has them in full.",
    ),
  invokeAbove: z
    .int()
    .min(0)
    .default(200)
    .describe(
      "A server with more tools than this is documented with the one operation `POST /<server>/invoke` in place of one per tool.",
    ),
  document: z
    .enum(["tools", "full"])
    .default("tools")
    .describe(
      "What the OpenAPI documents describe: tools is the tools and nothing else, which is what models are to be offered; full adds the gateway's own parameters (timeout, format, Prefer), answers as events, and jobs.",
    ),
  docs: z.boolean().default(true).describe("Serve the pages /docs and `/<server>/docs`."),
  serverTiming: z
    .boolean()
    .default(false)
    .describe(
      "Answer with a Server-Timing header: milliseconds in each stage of the pipeline, at the server (`upstream`), on the way back (`reply`), and in `total`.",
    ),
  jobs: z
    .strictObject({
      maxJobs: z
        .int()
        .min(0)
        .default(1_000)
        .describe("Jobs kept at a time, running and finished. 0 = no `Prefer: respond-async`."),
      maxSize: sizeSchema()
        .default(64 * 1024 * 1024)
        .describe("Bytes of all results kept; the oldest make way. A bare number is bytes."),
      ttl: durationSchema()
        .default(600_000)
        .describe("How long a finished job can be fetched; a bare number is seconds."),
    })
    .prefault({})
    .describe("Calls answered later, for requests with `Prefer: respond-async`."),
});

/** Options as the plugin uses them. */
export type OpenapiOptions = z.output<typeof optionsSchema>;
