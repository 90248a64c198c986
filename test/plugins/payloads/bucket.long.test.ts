import { randomBytes } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { isGatewayError } from "../../../core/index.ts";
import { freePort } from "../../../core/testing/index.ts";
import { optionsSchema } from "../../../plugins/payloads/options.ts";
import { signHeaders, signUrl } from "../../../plugins/payloads/signature.ts";
import { KEYS, type Fault } from "../../fixtures/s3/server.ts";
import { expectedSignature, sha256 } from "../../fixtures/s3/signature.ts";
import { until } from "../../kit/until.ts";
import { bucketOf, openBucket, startS3 } from "./bucket-kit.ts";

/** The examples of AWS, "Authenticating Requests (AWS Signature Version 4)", of 24 May 2013. */
const SIGNER = { region: "us-east-1", ...KEYS };
const AT = new Date("2013-05-24T00:00:00Z");
const HOST = "examplebucket.s3.amazonaws.com";
const EMPTY = sha256("");
const VECTORS = [
  {
    name: "GET Object",
    method: "GET",
    url: "/test.txt",
    body: "",
    headers: { range: "bytes=0-9" },
    signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
  },
  {
    name: "PUT Object",
    method: "PUT",
    url: "/test$file.text",
    body: "Welcome to Amazon S3.",
    headers: { date: "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY" },
    signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
  },
  {
    name: "GET Bucket Lifecycle",
    method: "GET",
    url: "/?lifecycle",
    body: "",
    headers: {},
    signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
  },
  {
    name: "List Objects",
    method: "GET",
    url: "/?max-keys=2&prefix=J",
    body: "",
    headers: {},
    signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
  },
] as const;

describe("signatures", () => {
  it.each(VECTORS)("are those of AWS's example $name", async ({ signature, ...example }) => {
    const { method, body, headers } = example;
    const url = new URL(`https://${HOST}${example.url}`);
    const digest = sha256(body);
    const sent = await signHeaders(SIGNER, { method, url, at: AT }, digest, headers);
    const names = ["host", ...Object.keys(headers), "x-amz-content-sha256", "x-amz-date"];
    expect(sent["authorization"]).toBe(
      `AWS4-HMAC-SHA256 Credential=${KEYS.accessKeyId}/20130524/us-east-1/s3/aws4_request, SignedHeaders=${names.toSorted().join(";")}, Signature=${signature}`,
    );
    expect(sent).toMatchObject({ ...headers, "x-amz-content-sha256": digest });
    expect(sent["x-amz-date"]).toBe("20130524T000000Z");
    // What the server of these tests computes by itself is right, too.
    const signed = Object.fromEntries(
      Object.entries({ ...sent, host: HOST }).filter(([name]) => name !== "authorization"),
    );
    expect(
      expectedSignature({
        method,
        path: url.pathname,
        query: [...url.searchParams],
        headers: signed,
        payloadHash: digest,
        datetime: "20130524T000000Z",
        region: "us-east-1",
        secret: KEYS.secretAccessKey,
      }),
    ).toBe(signature);
  });

  it("of URLs are those of AWS's example", async () => {
    const url = new URL(`https://${HOST}/test.txt`);
    const signed = new URL(await signUrl(SIGNER, { method: "GET", url, at: AT }, 86_400));
    expect([signed.host, signed.pathname]).toEqual([HOST, "/test.txt"]);
    expect(Object.fromEntries(signed.searchParams)).toEqual({
      "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
      "X-Amz-Credential": `${KEYS.accessKeyId}/20130524/us-east-1/s3/aws4_request`,
      "X-Amz-Date": "20130524T000000Z",
      "X-Amz-Expires": "86400",
      "X-Amz-SignedHeaders": "host",
      "X-Amz-Signature": "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404",
    });
  });

  it("name the token of temporary credentials", async () => {
    const signer = { ...SIGNER, sessionToken: "token+of/some=time" };
    const url = new URL(`https://${HOST}/test.txt`);
    const sent = await signHeaders(signer, { method: "GET", url, at: AT }, EMPTY);
    expect(sent["x-amz-security-token"]).toBe("token+of/some=time");
    expect(sent["authorization"]).toContain("x-amz-date;x-amz-security-token,");
    const signed = await signUrl(signer, { method: "GET", url, at: AT }, 60);
    expect(new URL(signed).searchParams.get("X-Amz-Security-Token")).toBe("token+of/some=time");
  });
});

const CONTENT = gzipSync(randomBytes(300_000));
const WHOLE = { length: CONTENT.length, digest: sha256(CONTENT) };
const FAST = { timeout: "2s", maxAttempts: 2 };

/** What a bucket says of a failure, without anything of a credential, the bucket or its answer. */
async function refusalOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => expect.unreachable("It did not fail."),
    (thrown: unknown) => thrown,
  );
  if (!isGatewayError(error)) throw error;
  expect(error.code).toBe("unavailable");
  const told = JSON.stringify([error.message, error.hint, error.data]);
  for (const secret of [...Object.values(KEYS), "told-by-the-bucket", "127.0.0.1", "examplebucket"])
    expect(told).not.toContain(secret);
  return `${error.message} ${error.hint}`;
}

describe("a bucket", () => {
  it("is written, read and cleared by requests that S3 lets in", async () => {
    const server = await startS3();
    const { bucket, failures } = openBucket(server);
    expect(await bucket.put("a.gz", CONTENT)).toBe(WHOLE.digest);
    expect([...server.objects.keys()]).toEqual(["propylon/a.gz"]);
    expect(await bucket.get("a.gz", WHOLE)).toEqual(CONTENT);
    await bucket.remove("a.gz");
    expect(await bucket.get("a.gz", WHOLE)).toBeUndefined();
    await bucket.remove("a.gz");
    expect(server.refused).toEqual([]);
    expect(failures).toEqual(["get missing"]);
    expect(server.seen[0]!.url).toBe("/examplebucket/propylon/a.gz");
    expect(server.seen[0]!.headers["content-type"]).toBe("application/gzip");
  });

  it("may stand before the host", async () => {
    const server = await startS3();
    const endpoint = server.endpoint.replace("127.0.0.1", "localhost");
    const { bucket } = openBucket({ endpoint }, { pathStyle: false, prefix: "" });
    const url = new URL(
      await bucket.presign("a.gz", { method: "GET", mimeType: "text/plain", ttl: 5_000 }),
    );
    expect([url.hostname, url.pathname]).toEqual(["examplebucket.localhost", "/a.gz"]);
  });

  it("is read at a presigned URL, as a download of the announced type, until that ends", async () => {
    const server = await startS3();
    const { bucket } = openBucket(server);
    await bucket.put("a.gz", CONTENT);
    const mimeType = "text/plain; charset=utf-8; name=a+b c";
    const url = await bucket.presign("a.gz", { method: "GET", mimeType, ttl: 3_500 });
    expect(url).not.toContain("+");
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-disposition": "attachment",
      "content-encoding": "gzip",
      "content-type": mimeType,
      "cache-control": "private, no-store",
    });
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(gunzipSync(CONTENT));
    expect((await fetch(url, { method: "DELETE" })).status).toBe(403);
    expect((await fetch(url.replace("a.gz", "b.gz"))).status).toBe(403);
    expect((await fetch(url.replace("Expires=3", "Expires=900"))).status).toBe(403);
    await until(async () => (await fetch(url)).status === 403);
  });

  it.each<[Fault, string, string[]]>([
    [{ status: 403, code: "SignatureDoesNotMatch" }, "secretAccessKey", ["put denied"]],
    [{ status: 403, code: "AccessDenied" }, "PutObject", ["put denied"]],
    [{ status: 404, code: "NoSuchBucket" }, "NoSuchBucket", ["put refused"]],
    [{ status: 400, code: "AKIAIOSFODNN" }, "HTTP 400", ["put refused"]],
    [{ status: 503, code: "SlowDown" }, "HTTP 503", ["put busy", "put busy"]],
    [{ status: 500 }, "HTTP 500", ["put busy", "put busy"]],
    [{ status: 429 }, "HTTP 429", ["put busy", "put busy"]],
    [{ status: 302, headers: { location: "/other" } }, "redirects", ["put redirect"]],
    [{ status: 307, headers: { location: "http://127.0.0.1:1/" } }, "redirects", ["put redirect"]],
    ["reset", "connection", ["put unreachable", "put unreachable"]],
  ])("refuses with words of its own: %j", async (fault, words, counted) => {
    const server = await startS3();
    const { bucket, failures } = openBucket(server, FAST);
    server.fault = () => fault;
    expect(await refusalOf(bucket.put("a.gz", CONTENT))).toContain(words);
    expect(failures).toEqual(counted);
    expect(server.seen).toHaveLength(counted.length);
  });

  it.each<[Fault, string]>([
    ["truncate", "get unreachable"],
    ["shorten", "get damaged"],
    ["lengthen", "get damaged"],
    ["swap", "get damaged"],
    ["unannounced", "get damaged"],
    ["bomb", "get damaged"],
  ])("gives no object out that is not what was put there: %s", async (fault, counted) => {
    const server = await startS3();
    const { bucket, failures } = openBucket(server, FAST);
    await bucket.put("a.gz", CONTENT);
    server.fault = () => fault;
    await refusalOf(bucket.get("a.gz", WHOLE));
    expect(failures).toEqual([counted, counted]);
    // What passes is tried again, and not noticed.
    const faults: Fault[] = [fault];
    server.fault = () => faults.pop();
    expect(await bucket.get("a.gz", WHOLE)).toEqual(CONTENT);
  });

  it("that does not answer, or is away, is given up at the deadline", async () => {
    const server = await startS3();
    const { bucket, failures } = openBucket(server, { timeout: "300ms" });
    server.fault = () => "hang";
    const start = performance.now();
    expect(await refusalOf(bucket.get("a.gz", WHOLE))).toContain("in time");
    expect(performance.now() - start).toBeLessThan(5_000);
    expect(failures).toEqual(["get timeout"]);
    const away = openBucket({ endpoint: `http://127.0.0.1:${await freePort()}` }, FAST);
    expect(await refusalOf(away.bucket.put("a.gz", CONTENT))).toContain("refused");
    expect(away.failures).toEqual(["put unreachable", "put unreachable"]);
  });

  it("that stops in the middle of an object is given up at the deadline", async () => {
    const server = await startS3();
    await openBucket(server).bucket.put("a.gz", CONTENT);
    server.fault = () => "stall";
    const { bucket, failures } = openBucket(server, { timeout: "500ms" });
    expect(await refusalOf(bucket.get("a.gz", WHOLE))).toContain("in time");
    expect(failures).toEqual(["get timeout"]);
  });

  it("waits as long as it is asked, within its deadline", async () => {
    const server = await startS3();
    const { bucket } = openBucket(server);
    const faults: Fault[] = [{ status: 503, headers: { "retry-after": "1" } }];
    server.fault = () => faults.pop();
    const start = performance.now();
    await bucket.put("a.gz", CONTENT);
    expect(performance.now() - start).toBeGreaterThan(950);
  });

  it("gets so many requests at once, and no more wait than may", async () => {
    const server = await startS3();
    const { bucket, failures } = openBucket(server, { maxConcurrent: 3, timeout: "30s" });
    const small = gzipSync("small");
    let open = (): void => {};
    const gate = new Promise<undefined>((resolve) => (open = () => resolve(undefined)));
    server.fault = () => gate;
    const works = Array.from({ length: 300 }, (_, number) => bucket.put(`${number}.gz`, small));
    const ending = Promise.allSettled(works);
    await until(() => failures.length === 300 - 256 - 3);
    open();
    const ended = await ending;
    const refused = ended.filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(300 - 256 - 3);
    expect(failures).toEqual(refused.map(() => "put full"));
    expect(server.objects.size).toBe(259);
    expect(server.peak).toBeLessThanOrEqual(3);
    await bucket.put("later.gz", small);
  });
});

describe("the option bucket", () => {
  const read = (more: object) =>
    optionsSchema.safeParse({ bucket: bucketOf({ endpoint: "https://s3.example" }, more) });

  it.each([
    { endpoint: "https://user:password@s3.example" },
    { endpoint: "https://s3.example/path" },
    { endpoint: "https://s3.example/?query" },
    { endpoint: "ftp://s3.example" },
    { bucket: "../other" },
    { bucket: "a/b" },
    { prefix: "../" },
    { prefix: "no-slash" },
    { region: "eu central" },
    { accessKeyId: "line\nbreak" },
    { secretAccessKey: "" },
    { presignedTtl: "2h" },
    { presignedTtl: 0 },
    { maxConcurrent: 0 },
    { endpoint: "http://10.0.0.1:9000", pathStyle: false },
    { endpoint: "http://[::1]:9000", pathStyle: false },
    { unknown: true },
  ])("takes no %j", (more) => {
    const { success, error } = read(more);
    expect(success).toBe(false);
    expect(String(error)).not.toContain(KEYS.secretAccessKey);
  });

  it("has defaults", () => {
    expect(read({}).data?.bucket).toMatchObject({
      prefix: "propylon/",
      pathStyle: true,
      timeout: 15_000,
      maxAttempts: 3,
      maxConcurrent: 16,
    });
    expect(read({}).data?.bucket?.presignedTtl).toBeUndefined();
  });
});
