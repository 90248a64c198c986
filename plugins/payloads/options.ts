import { isIP } from "node:net";
import { durationSchema, sizeSchema } from "propylon";
import { unbracket } from "propylon/internal";
import { z } from "zod";

/** What goes into a header of a request, or its signature. */
const credentialSchema = z.string().regex(/^[\x21-\x7e]{1,4096}$/, "expected printable ASCII");

const bucketSchema = z
  .strictObject({
    endpoint: z
      .url({ protocol: /^https?$/ })
      .refine(isBare, "expected a URL with a host and a port alone")
      .describe("URL of the S3 service, without the bucket. Redirects of it are not followed."),
    bucket: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "expected the name of a bucket")
      .describe("Name of the bucket, which must be there."),
    region: z
      .string()
      .regex(/^[a-z0-9-]{1,64}$/, "expected a region such as eu-central-1")
      .default("us-east-1")
      .describe("Region that requests are signed for."),
    prefix: z
      .string()
      .regex(/^(?:[\w-]{1,64}\/){0,8}$/, "expected names that each end with /")
      .default("propylon/")
      .describe("How the names of the objects begin. Whatever is below belongs to the gateway."),
    pathStyle: z
      .boolean()
      .default(true)
      .describe("Whether the bucket stands in the path of URLs; `false`: before the host."),
    accessKeyId: credentialSchema.describe("Id of the access key, e.g. `${AWS_ACCESS_KEY_ID}`."),
    secretAccessKey: credentialSchema.describe("Its secret, e.g. `${AWS_SECRET_ACCESS_KEY}`."),
    sessionToken: credentialSchema
      .optional()
      .describe("Token of temporary credentials. They are not renewed."),
    timeout: durationSchema()
      .default(15_000)
      .describe("Longest operation, its attempts included; a bare number is seconds."),
    maxAttempts: z.int().min(1).max(10).default(3).describe("Attempts of one operation."),
    maxConcurrent: z
      .int()
      .min(1)
      .max(1_000)
      .default(16)
      .describe("Requests at a time; 256 more wait, further ones are refused."),
    presignedTtl: durationSchema()
      .refine((ttl) => ttl >= 1_000 && ttl <= 3_600_000, "expected 1s to 1h")
      .optional()
      .describe(
        "Sends owners of large payloads to the bucket, by a URL that is valid for this time; a bare number is seconds. Default: off, the gateway sends the bytes.",
      ),
  })
  .refine(({ endpoint, pathStyle }) => pathStyle || !hasAddress(endpoint), {
    path: ["pathStyle"],
    error: "expected true for an endpoint with an IP address",
  });

/** A bucket with its defaults. */
export type BucketOptions = z.output<typeof bucketSchema>;

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
  bucket: bucketSchema
    .optional()
    .describe(
      "S3 bucket for payloads above 64 KiB, compressed; the others, and the index, are in the gateway's store, which must outlive the process. New ones go there also where `store` names a folder. Default: none.",
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

function isBare(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { origin, href } = new URL(text);
  return href === `${origin}/`;
}

function hasAddress(text: string): boolean {
  return isIP(unbracket(new URL(text).hostname)) !== 0;
}
