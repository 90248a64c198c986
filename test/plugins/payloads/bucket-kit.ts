import { onTestFinished } from "vitest";
import { Bucket } from "../../../plugins/payloads/bucket.ts";
import { optionsSchema, type BucketOptions } from "../../../plugins/payloads/options.ts";
import { BUCKET, KEYS, REGION, S3Server } from "../../fixtures/s3/server.ts";

/** A server of the running test. */
export async function startS3(): Promise<S3Server> {
  const server = await new S3Server().start();
  onTestFinished(() => server.stop());
  return server;
}

/** The option `bucket` for it, as somebody writes it. */
export function bucketOf({ endpoint }: Pick<S3Server, "endpoint">, more: object = {}): object {
  return { endpoint, bucket: BUCKET, region: REGION, ...KEYS, ...more };
}

/** A bucket of it, and what it counted. */
export function openBucket(
  server: Pick<S3Server, "endpoint">,
  more: object = {},
): { readonly bucket: Bucket; readonly failures: string[] } {
  const failures: string[] = [];
  const options = optionsSchema.parse({ bucket: bucketOf(server, more) }).bucket as BucketOptions;
  const bucket = new Bucket(options, (operation, reason) =>
    failures.push(`${operation} ${reason}`),
  );
  onTestFinished(() => bucket.close());
  return { bucket, failures };
}
