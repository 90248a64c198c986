import { durationSchema, sizeSchema } from "propylon";
import { z } from "zod";

/** Options of the payloads plugin. */
export const optionsSchema = z.strictObject({
  publicUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      "Where clients reach the gateway, for payload_url; default: the config's publicUrl, else the first listener.",
    ),
  maxSize: sizeSchema()
    .default(64 * 1024 * 1024)
    .describe("Largest payload before compression; a bare number is bytes."),
  maxTotalSize: sizeSchema()
    .default(256 * 1024 * 1024)
    .describe("Room for all payloads as stored; a bare number is bytes."),
  maxPayloads: z.int().min(1).default(20_000).describe("Payloads kept at a time."),
  store: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Folder that keeps payloads through a restart, relative to the config; made with mode 0700 when it is missing. Where the gateway's store outlives the process: only those above 64 KiB, the others are in the store. Default: all in the store, which may be memory.",
    ),
  results: z
    .strictObject({
      above: sizeSchema().describe(
        "Tool results larger than this become payloads; a bare number is bytes.",
      ),
      maxPreview: sizeSchema()
        .default(2_048)
        .describe("How much of the text stays in the result; a bare number is bytes."),
      ttl: durationSchema()
        .default(900_000)
        .describe("How long such a payload is kept; a bare number is seconds."),
    })
    .optional()
    .describe(
      "Store large tool results in place of sending them whole. Default: off. A principal that has a quarter of the room gets further ones whole.",
    ),
});

/** {@link optionsSchema} filled in. */
export type PayloadsOptions = z.output<typeof optionsSchema>;

/** Names of options in 0.1. */
export const formerOptions = {
  limit: "maxSize",
  total: "maxTotalSize",
  "results.preview": "results.maxPreview",
};
