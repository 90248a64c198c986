import { type HttpClient, type HttpClientReply, readRetryAfter } from "propylon/kit";
import { parseUrl } from "./reading/references.ts";

const MAX_REDIRECTS = 5;

/** A request as it goes out; `path` includes the query. */
export interface ApiRequest {
  readonly origin: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
}

/** What an API answered. */
export interface ApiReply {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  /** Without query, which may hold what is nobody else's business. */
  readonly url: string;
  /** Where a redirect that was not followed leads. */
  readonly location: string | undefined;
  /** When another attempt makes sense, in seconds. */
  readonly retryAfter?: number | undefined;
}

/**
 * Sends a request and reads the whole answer. Redirects are followed for GET and HEAD on the same host only, since the headers of
 * the operator belong to that host.
 *
 * @throws as {@link HttpClient.send}
 */
export async function sendRequest(
  http: HttpClient,
  request: ApiRequest,
  signal: AbortSignal,
): Promise<ApiReply> {
  const headers = { "accept-encoding": "gzip, deflate, br", ...request.headers };
  let { path } = request;
  for (let hop = 0; ; hop++) {
    const reply = await http.send({ ...request, path }, { ...request, headers, signal });
    const read = await readReply(reply, `${request.origin}${path.split("?", 1)[0]}`);
    const next = redirected({ ...request, path }, read);
    if (next === undefined || hop === MAX_REDIRECTS) return read;
    path = next;
  }
}

async function readReply(reply: HttpClientReply, url: string): Promise<ApiReply> {
  const { status } = reply;
  const isRedirect = status >= 300 && status < 400;
  return {
    status,
    contentType: reply.header("content-type"),
    body: await reply.bytes(),
    url,
    location: (isRedirect && reply.header("location")) || undefined,
    retryAfter: status < 400 ? undefined : secondsUntil(reply.header("retry-after")),
  };
}

function secondsUntil(retryAfter: string): number | undefined {
  const wait = readRetryAfter(retryAfter);
  return wait === undefined ? undefined : Math.ceil(wait / 1_000);
}

function redirected(
  { method, origin, path }: ApiRequest,
  { location }: ApiReply,
): string | undefined {
  if (location === undefined || (method !== "GET" && method !== "HEAD")) return undefined;
  const target = parseUrl(location, `${origin}${path}`);
  return target?.origin === origin ? `${target.pathname}${target.search}` : undefined;
}
