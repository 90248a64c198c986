import type { HttpClientReply } from "propylon/kit";

/** Longest description of an error that is read, in bytes; those of S3 have a few hundred. */
const MAX_DESCRIPTION = 16 * 1024;

/** What operators of a bucket do about its errors. Others are not shown: an answer may hold what was sent. */
const HINTS: Readonly<Record<string, string>> = {
  AccessDenied:
    "The bucket says AccessDenied: its access key needs GetObject, PutObject and DeleteObject below bucket.prefix.",
  InvalidAccessKeyId: "The bucket says InvalidAccessKeyId: check bucket.accessKeyId.",
  SignatureDoesNotMatch:
    "The bucket says SignatureDoesNotMatch: check bucket.secretAccessKey and bucket.region.",
  AuthorizationHeaderMalformed:
    "The bucket says AuthorizationHeaderMalformed: check bucket.region.",
  RequestTimeTooSkewed: "The bucket says RequestTimeTooSkewed: set the clock of this machine.",
  ExpiredToken: "The bucket says ExpiredToken: renew bucket.sessionToken.",
  NoSuchBucket: "The bucket says NoSuchBucket: check bucket.endpoint and bucket.bucket.",
};

/** Why an attempt failed: what is counted, and the end of a sentence. */
export class BucketFailure extends Error {
  readonly reason: string;
  readonly hint: string | undefined;
  /** Whether it may go away on its own. */
  readonly isPassing: boolean;
  /** Milliseconds that the bucket asks to wait. */
  readonly retryAfter: number;

  constructor(
    reason: string,
    message: string,
    {
      hint,
      isPassing = reason === "unreachable",
      retryAfter = 0,
      cause,
    }: {
      hint?: string | undefined;
      isPassing?: boolean;
      retryAfter?: number;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause });
    this.reason = reason;
    this.hint = hint;
    this.isPassing = isPassing;
    this.retryAfter = retryAfter;
  }
}

/** Why a bucket refused; nothing when it says that there is no such object. */
export async function bucketFailureOf(reply: HttpClientReply): Promise<BucketFailure | undefined> {
  const { status } = reply;
  const code = await readCode(reply);
  if (status === 404 && code === "NoSuchKey") return undefined;
  const hint = code === undefined || !Object.hasOwn(HINTS, code) ? undefined : HINTS[code];
  if (status === 401 || status === 403)
    return new BucketFailure("denied", `it denies access (HTTP ${status})`, { hint });
  if (status >= 300 && status < 400)
    return new BucketFailure("redirect", `it redirects (HTTP ${status}), which is not followed`, {
      hint: "Put the final URL into bucket.endpoint, and the region of the bucket into bucket.region.",
    });
  const isPassing = status === 429 || status >= 500;
  return new BucketFailure(isPassing ? "busy" : "refused", `it answered with HTTP ${status}`, {
    hint,
    isPassing,
    retryAfter: Number(reply.header("retry-after")) * 1_000 || 0,
  });
}

/** The code of an S3 error, where the description is short. */
async function readCode(reply: HttpClientReply): Promise<string | undefined> {
  return /<Code>([A-Za-z]{1,64})<\/Code>/.exec(await readShort(reply))?.[1];
}

/** A body that says little, so that its connection can be used again; of a longer one nothing. */
export async function readShort(reply: HttpClientReply): Promise<string> {
  const length = reply.status === 204 ? "0" : reply.header("content-length");
  const isShort = /^\d{1,5}$/.test(length) && Number(length) <= MAX_DESCRIPTION;
  if (isShort && reply.header("content-encoding") === "")
    return (await reply.bytes()).toString("latin1");
  reply.drop();
  return "";
}
