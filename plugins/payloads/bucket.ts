import { GatewayError, type PluginContext } from "propylon";
import {
  backoffDelay,
  digestOf,
  HttpClient,
  type HttpClientReply,
  networkReason,
  pause,
  timeoutSignal,
} from "propylon/kit";
import type { Store } from "propylon/store";
import type { BucketOptions, PayloadsOptions } from "./options.ts";
import { BucketFailure, bucketFailureOf, readShort } from "./bucket-failure.ts";
import { loadSigner, signHeaders, signUrl } from "./signature.ts";

const BACKOFF = { initial: 200, max: 3_000 };
/** Requests that wait for one of the connections: each holds a payload. */
const MAX_WAITING = 256;
const NO_BODY = digestOf("");

/** What an object must have: a bucket may hold anything. */
export interface ObjectContent {
  readonly length: number;
  /** SHA-256 in hexadecimal. */
  readonly digest: string;
}

/** How a presigned URL answers. */
export interface PresignedRead {
  readonly method: "GET" | "HEAD";
  readonly mimeType: string;
  /** Milliseconds. */
  readonly ttl: number;
}

/** A request, the body of which is of these bytes. */
interface BucketRequest {
  readonly method: "GET" | "PUT" | "DELETE";
  readonly name: string;
  readonly body?: Buffer;
  readonly digest?: string;
}

/**
 * The bucket of a config, if there is one.
 *
 * @throws {GatewayError} `invalid` without an index that outlives the process: nobody would find its objects again
 */
export function createBucket(
  {
    config,
    services: { store },
    info,
  }: PluginContext<PayloadsOptions, { readonly store: typeof Store }>,
  onFailure: (operation: string, reason: string) => void,
): Bucket | undefined {
  if (!config.bucket) return undefined;
  // `propylon check` opens no store.
  if (!store.durable && !info.dryRun)
    throw new GatewayError(
      "invalid",
      "plugins.payloads.bucket needs a store that outlives the process.",
      {
        hint: "Set store, e.g. to postgres://... or sqlite:./gateway.db",
      },
    );
  return new Bucket(config.bucket, onFailure);
}

/** Objects of one S3 bucket: bounded, retried, and never anything of a request or an answer in an error. */
export class Bucket {
  readonly #options: BucketOptions;
  readonly #onFailure: (operation: string, reason: string) => void;
  readonly #http: HttpClient;
  #running = 0;

  /** @param onFailure told of every attempt that failed */
  constructor(options: BucketOptions, onFailure: (operation: string, reason: string) => void) {
    this.#options = options;
    this.#onFailure = onFailure;
    this.#http = new HttpClient({
      // What is read has the announced length of the object; that was checked before.
      maxResult: Infinity,
      connections: options.maxConcurrent,
      connectTimeout: options.timeout,
      network: (cause) => new BucketFailure("unreachable", networkReason(cause), { cause }),
      tooLarge: () => new BucketFailure("damaged", "its answer is too large"),
    });
  }

  /** @throws {GatewayError} `invalid` when the package is not installed */
  async open(): Promise<void> {
    await loadSigner();
  }

  /**
   * @returns the SHA-256 of the bytes, in hexadecimal
   * @throws {GatewayError} `unavailable`
   */
  async put(name: string, body: Buffer): Promise<string> {
    const digest = await digestBytes(body);
    const request = { method: "PUT", name, body, digest } as const;
    const answer = await this.#run(request, readShort);
    if (answer === undefined)
      throw this.#refuse(request, new BucketFailure("refused", "it takes no object"));
    return digest;
  }

  /**
   * Absent when there is no such object.
   * @throws {GatewayError} `unavailable`, also for an object that is not what was put there
   */
  get(name: string, content: ObjectContent): Promise<Buffer | undefined> {
    return this.#run({ method: "GET", name }, (reply) => readObject(reply, content));
  }

  /** @throws {GatewayError} `unavailable` */
  async remove(name: string): Promise<void> {
    await this.#run({ method: "DELETE", name }, readShort);
  }

  /** A URL at which anybody who has it reads an object. */
  presign(name: string, { method, mimeType, ttl }: PresignedRead): Promise<string> {
    const url = this.#urlOf(name);
    const answer = {
      "response-cache-control": "private, no-store",
      // A page of a stranger is saved, and not run with the rights of the bucket's host.
      "response-content-disposition": "attachment",
      "response-content-encoding": "gzip",
      "response-content-type": mimeType,
    };
    for (const [key, value] of Object.entries(answer)) url.searchParams.set(key, value);
    return signUrl(this.#options, { method, url }, Math.max(1, Math.floor(ttl / 1_000)));
  }

  /** Ends every connection. */
  close(): Promise<void> {
    return this.#http.destroy();
  }

  async #run<T>(
    request: BucketRequest,
    read: (reply: HttpClientReply) => Promise<T>,
  ): Promise<T | undefined> {
    if (this.#running >= this.#options.maxConcurrent + MAX_WAITING)
      throw this.#refuse(request, new BucketFailure("full", "too many requests wait for it"));
    this.#running++;
    try {
      return await this.#retry(request, read);
    } finally {
      this.#running--;
    }
  }

  /** One deadline for all attempts; what is put or removed twice is there or gone once. */
  async #retry<T>(
    request: BucketRequest,
    read: (reply: HttpClientReply) => Promise<T>,
  ): Promise<T | undefined> {
    const signal = timeoutSignal(this.#options.timeout);
    for (let failures = 1; ; failures++) {
      try {
        return await this.#attempt(request, read, signal);
      } catch (error) {
        const failure = signal.aborted ? late(error) : error;
        if (!(failure instanceof BucketFailure)) throw error;
        const refusal = this.#refuse(request, failure);
        if (failures >= this.#options.maxAttempts || !failure.isPassing) throw refusal;
        await pause(backoffDelay(failures, BACKOFF, failure.retryAfter), signal);
      }
    }
  }

  async #attempt<T>(
    { method, name, body, digest = NO_BODY }: BucketRequest,
    read: (reply: HttpClientReply) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const url = this.#urlOf(name);
    // Signed again each time: a signature is valid for 15 minutes.
    const signed = await signHeaders(this.#options, { method, url }, digest);
    const headers = { ...signed, ...(body && { "content-type": "application/gzip" }) };
    const reply = await this.#http.send(url, { method, headers, body, signal });
    if (reply.status === 200 || (reply.status === 204 && method === "DELETE")) return read(reply);
    const failure = await bucketFailureOf(reply);
    if (failure) throw failure;
    // One of two replicas that remove it finds nothing.
    if (method !== "DELETE") this.#onFailure(method.toLowerCase(), "missing");
    return undefined;
  }

  #urlOf(name: string): URL {
    const { endpoint, bucket, prefix, pathStyle } = this.#options;
    const url = new URL(endpoint);
    if (!pathStyle) url.hostname = `${bucket}.${url.hostname}`;
    url.pathname = `/${pathStyle ? `${bucket}/` : ""}${prefix}${name}`;
    return url;
  }

  #refuse({ method }: BucketRequest, failure: BucketFailure): GatewayError {
    const { reason, message, hint, cause } = failure;
    this.#onFailure(method.toLowerCase(), reason);
    return new GatewayError(
      "unavailable",
      `The bucket of the payloads cannot be used: ${message}.`,
      {
        hint: hint ?? "Make the request again.",
        data: { reason },
        cause,
      },
    );
  }
}

function late(cause: unknown): BucketFailure {
  return new BucketFailure("timeout", "it does not answer in time", { cause });
}

/** In a thread of its own, so that a large payload holds nobody up. */
async function digestBytes(bytes: Uint8Array): Promise<string> {
  return Buffer.from(
    await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>),
  ).toString("hex");
}

/** The whole object, and no other: another program, or a proxy, may have changed it. */
async function readObject(
  reply: HttpClientReply,
  { length, digest }: ObjectContent,
): Promise<Buffer> {
  const isWhole = reply.header("content-length") === String(length);
  if (isWhole && reply.header("content-encoding") === "") {
    const bytes = await reply.bytes();
    if (bytes.length === length && (await digestBytes(bytes)) === digest) return bytes;
  }
  reply.drop();
  throw new BucketFailure("damaged", "an object is not what was put there", { isPassing: true });
}
