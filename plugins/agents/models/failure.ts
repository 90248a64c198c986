import { GatewayError } from "propylon";
import { networkReason, readRetryAfter } from "propylon/kit";
import { reasonIn, reasonInBody } from "./answers/provider-words.ts";

/** A request to a provider that failed. */
export interface ModelFailure {
  readonly error: GatewayError;
  /** Whether another try may succeed. */
  readonly transient: boolean;
  /** Milliseconds the provider asks to wait. */
  readonly retryAfter?: number | undefined;
}

/** Whose request it was. */
export interface Asked {
  /** Name of the provider in the config. */
  readonly provider: string;
  readonly type: string;
  readonly model: string;
  /** Texts that must not get out: key and header values. */
  readonly secrets: readonly string[];
}

/** What an HTTP status of a provider means, and what to do. */
const BY_STATUS: Readonly<Record<number, readonly [words: string, hint: string]>> = {
  401: ["refuses the key (HTTP 401)", "Correct the apiKey of this provider."],
  403: ["denies access (HTTP 403)", "Check what the apiKey of this provider may use."],
  404: ["does not have it (HTTP 404)", "Check the name of the model, and the baseUrl."],
  408: ["took too long (HTTP 408)", "Try again later."],
  413: ["finds the request too large (HTTP 413)", "Shorten the conversation or its images."],
  429: ["has no capacity for this key now (HTTP 429)", "Try again later, or raise the quota."],
};

/** Statuses after which the same request may succeed: too early, too many, and whatever the server blames itself for. */
function isTransient(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || status === 429 || status >= 500;
}

/** What the `ai` package throws for an HTTP error answer, and for one it cannot read. Duck-typed: the package is optional. */
interface ApiError extends Error {
  readonly statusCode?: number;
  readonly responseHeaders?: Record<string, string>;
  readonly data?: unknown;
  readonly responseBody?: unknown;
}

function isApiError(error: unknown): error is ApiError {
  return error instanceof Error && error.name === "AI_APICallError";
}

/**
 * Says what went wrong with a request, without keys, URLs, headers or bodies: errors reach clients and logs.
 * @param thrown by the `ai` package or fetch
 */
export function describeModelFailure(thrown: unknown, asked: Asked): ModelFailure {
  if (isApiError(thrown) && thrown.statusCode !== undefined && !(thrown.statusCode < 300))
    return describeStatus(thrown.statusCode, thrown, asked);
  if (isTruncation(thrown)) return describeTruncation(asked);
  const network = networkCause(thrown);
  if (network) return describeNetwork(network, asked);
  // An error object is the package's own, about an event that is not a piece of an answer, such as an error in a shape that it does
  // not know; anything else is what the provider said inside a stream.
  const words = thrown instanceof Error ? reasonInEvent(thrown) : reasonIn(thrown);
  return {
    error: toError(
      words === undefined
        ? `sent something other than an answer of the API "${asked.type}"`
        : `failed: ${redact(words, asked.secrets)}`,
      asked,
      { hint: "Check type and baseUrl of this provider." },
      thrown,
    ),
    transient: /overloaded|server_error|rate_limit/i.test(words ?? ""),
  };
}

function describeStatus(status: number, thrown: ApiError, asked: Asked): ModelFailure {
  const known = BY_STATUS[status];
  const [words, hint] = known ?? wordsFor(status);
  // What a provider says about a key quotes it; what it says about a request helps.
  const said = status === 401 || status === 403 ? undefined : reasonOf(thrown);
  const detail = said === undefined ? "" : `: ${redact(said, asked.secrets)}`;
  const retryAfter = waitIn(thrown.responseHeaders);
  const data = { status, ...(retryAfter !== undefined && { retryAfter }) };
  return {
    error: toError(`${words}${detail}`, asked, { hint, data }, thrown),
    transient: isTransient(status),
    retryAfter,
  };
}

function wordsFor(status: number): readonly [words: string, hint: string] {
  if (status >= 500) return [`fails (HTTP ${status})`, "Try again later."];
  if (status >= 400) return [`refuses the request (HTTP ${status})`, "Check the model's limits."];
  return [`redirects (HTTP ${status}), which is not followed`, "Put the final URL into baseUrl."];
}

function describeNetwork(cause: Error, asked: Asked): ModelFailure {
  const tooLarge = (cause as Error & { code?: unknown }).code === "UND_ERR_RES_EXCEEDED_MAX_SIZE";
  const words = tooLarge ? "its answer is too large" : networkReason(cause);
  return {
    error: toError(
      `cannot be used: ${words}`,
      asked,
      { hint: "Check baseUrl, and whether it runs." },
      cause,
    ),
    transient: !tooLarge,
  };
}

/** A failure of ours to wait longer. */
export function describeTimeout(ms: number, asked: Asked): ModelFailure {
  const hint = "Raise the timeout of this provider, or ask for less.";
  return {
    error: toError(`gave no complete answer within ${ms / 1_000} s`, asked, { hint }, undefined),
    transient: false,
  };
}

/** Nobody waits any longer for a health check. */
export function describeSilence(asked: Asked): GatewayError {
  return toError("does not answer in time", asked, {}, undefined);
}

/** An answer that stops before it says that it is complete. */
function isTruncation(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  // The second is the package's, where nothing came at all.
  return (
    ["TruncatedAnswer", "AI_NoOutputGeneratedError"].includes(thrown.name) ||
    /without a finish reason/.test(thrown.message)
  );
}

function describeTruncation(asked: Asked): ModelFailure {
  const error = toError("ended its answer before it was complete", asked, {}, undefined);
  return { error, transient: true };
}

function toError(
  words: string,
  { provider, model }: Asked,
  details: { readonly hint?: string; readonly data?: Readonly<Record<string, unknown>> },
  cause: unknown,
): GatewayError {
  return new GatewayError(
    "upstream_error",
    `Provider "${provider}" of model "${model}" ${words}.`,
    {
      ...(details.hint !== undefined && { hint: details.hint }),
      data: { provider, model, ...details.data },
      // Only what it was: the error itself holds the whole request, key and conversation included.
      ...(cause instanceof Error && { cause: cause.name }),
    },
  );
}

/** The network error inside what fetch, or the `ai` package around it, threw. */
function networkCause(thrown: unknown): Error | undefined {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 5; depth++) {
    if (typeof (error as { code?: unknown }).code === "string") return error;
    if (error.name === "TypeError" && /fetch failed|terminated/.test(error.message) && !error.cause)
      return error;
    error = error.cause;
  }
  return undefined;
}

function reasonOf({ data, responseBody }: ApiError): string | undefined {
  return reasonIn(data) ?? reasonInBody(responseBody);
}

/** The package keeps an event that it could not read as `value` of its error. */
function reasonInEvent(thrown: Error): string | undefined {
  if (thrown.name !== "AI_TypeValidationError") return undefined;
  return reasonIn((thrown as { value?: unknown }).value);
}

/** A provider's own words, short, without the secrets they may quote. */
function redact(text: string, secrets: readonly string[]): string {
  let clean = text.replaceAll(/\s+/g, " ").trim();
  for (const secret of secrets) if (secret.length > 3) clean = clean.replaceAll(secret, "***");
  clean = clean
    .replaceAll(/\b(?:sk|pk|key)-[\w*.-]{6,}/g, "***")
    .replaceAll(/\bhttps?:\/\/\S+/g, "(a URL)");
  return clean.length > 300 ? `${clean.slice(0, 300)}...` : clean.replace(/\.$/, "");
}

/** Milliseconds that a provider asks to wait. OpenAI says it more precisely in `retry-after-ms`. */
function waitIn(headers: Readonly<Record<string, string>> = {}): number | undefined {
  const precise = headers["retry-after-ms"] ?? "";
  return /^\d+(\.\d+)?$/.test(precise)
    ? Number(precise)
    : readRetryAfter(headers["retry-after"] ?? "");
}
