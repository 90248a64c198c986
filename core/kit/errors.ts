/**
 * Every failure the gateway reports, as one table from code to HTTP status.
 * Codes of the specification first, ours after them.
 *
 * @example const status = ERROR_STATUS.not_found; // 404
 */
export const ERROR_STATUS = {
  timeout: 504,
  not_found: 404,
  exists: 409,
  invalid: 422,
  invalid_timeout: 400,
  io_error: 500,
  reload_failed: 500,
  reinit_failed: 500,
  no_config_mode: 400,
  no_config: 400,
  disabled: 403,
  read_only: 403,
  forbidden: 403,
  unauthorized: 401,
  rate_limited: 429,
  too_large: 413,
  unsupported_media_type: 415,
  bad_request: 400,
  method_not_allowed: 405,
  not_acceptable: 406,
  not_implemented: 501,
  circuit_open: 503,
  unavailable: 503,
  draining: 503,
  cancelled: 499,
  upstream_error: 502,
  result_too_large: 502,
  internal: 500,
} as const;

/**
 * A code of {@link ERROR_STATUS}.
 *
 * @example const RETRIED: ReadonlySet<ErrorCode> = new Set(["timeout", "upstream_error"]);
 */
export type ErrorCode = keyof typeof ERROR_STATUS;

/** JSON-RPC codes for the failures that reach an MCP client as a protocol error; all others are -32000. */
const RPC_CODE: Partial<Record<ErrorCode, number>> = {
  invalid: -32602,
  bad_request: -32600,
  not_found: -32602,
  timeout: -32001,
  internal: -32603,
};

/** Where in a config file something was found: `file:line:column`, lines and columns from 1. */
export interface Place {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  /** JSON path inside the file, e.g. `servers.search.url`. */
  readonly path?: string;
}

/** Optional parts of a {@link GatewayError}. */
export interface ErrorDetails {
  /** Machine-readable facts for the caller; must not hold secrets. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** What the reader can do next, as a sentence. */
  readonly hint?: string;
  /** Place in a config file. */
  readonly place?: Place;
  /** The original failure; logged, never sent. */
  readonly cause?: unknown;
  /** Extra response headers, e.g. `www-authenticate` or `retry-after`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * The one error class of the gateway. Recognised by name, so that two copies of the package agree.
 *
 * @example throw new GatewayError("not_found", `No server named "search".`, { hint: "See propylon tools." });
 */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly code: ErrorCode;
  readonly data: Readonly<Record<string, unknown>> | undefined;
  readonly hint: string | undefined;
  readonly place: Place | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.data = details.data;
    this.hint = details.hint;
    this.place = details.place;
    this.headers = details.headers;
  }

  /** HTTP status that belongs to the code. */
  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

/**
 * Whether a value is a {@link GatewayError}, of this copy of the package or another.
 *
 * @example const isGone = (error: unknown): boolean => isGatewayError(error) && error.code === "not_found";
 */
export function isGatewayError(value: unknown): value is GatewayError {
  return value instanceof Error && value.name === "GatewayError" && "code" in value;
}

/**
 * Turns anything thrown into a {@link GatewayError}; what is unknown becomes `internal` and keeps its cause for the log.
 *
 * @example const { code, message } = toGatewayError(thrown);
 */
export function toGatewayError(thrown: unknown): GatewayError {
  if (isGatewayError(thrown)) return thrown;
  return new GatewayError("internal", "Internal error.", { cause: thrown });
}

/**
 * Its sentence and what the reader can do next, as one text.
 *
 * @example wordsOf(new GatewayError("invalid", "Wrong.", { hint: "Try again." })); // "Wrong. Try again."
 */
export function wordsOf({ message, hint }: GatewayError): string {
  return hint === undefined ? message : `${message} ${hint}`;
}

/** Body of the HTTP error envelope. */
export interface ErrorEnvelope {
  readonly ok: false;
  readonly error: {
    readonly code: ErrorCode;
    readonly message: string;
    /** What the reader can do next, as a sentence. */
    readonly hint?: string;
    readonly data?: Readonly<Record<string, unknown>>;
  };
}

/**
 * Renders an error as the envelope of management and tool routes.
 *
 * @example return Response.json(toEnvelope(error), { status: error.status });
 */
export function toEnvelope({ code, message, hint, data }: GatewayError): ErrorEnvelope {
  return {
    ok: false,
    error: {
      code,
      message,
      ...(hint !== undefined && { hint }),
      ...(data !== undefined && { data }),
    },
  };
}

/**
 * Renders an error as an RFC 9457 problem, for clients that ask for `application/problem+json`.
 *
 * @example return Response.json(toProblem(error), { headers: { "content-type": "application/problem+json" } });
 */
export function toProblem(error: GatewayError): Record<string, unknown> {
  const { code, message, status, hint, data } = error;
  return {
    type: `urn:propylon:error:${code}`,
    title: code,
    status,
    detail: message,
    ...(hint !== undefined && { hint }),
    ...(data && { data }),
  };
}

/**
 * The body of an error answer and its content type: an RFC 9457 problem where the client asks for one, else the envelope.
 *
 * @param accept the header `accept` of the request
 * @example const { type, body } = renderError(error, event.req.headers.get("accept"));
 */
export function renderError(
  error: GatewayError,
  accept: string | null | undefined,
): { readonly type: string; readonly body: string } {
  const isProblem = accept?.includes("application/problem+json") === true;
  return {
    type: isProblem ? "application/problem+json" : "application/json",
    body: JSON.stringify(isProblem ? toProblem(error) : toEnvelope(error)),
  };
}

/**
 * The same error with more facts and response headers; it is the cause.
 *
 * @example throw amendError(toGatewayError(thrown), { data: { failed: "transport" } });
 */
export function amendError(
  error: GatewayError,
  { data, headers }: Pick<ErrorDetails, "data" | "headers">,
): GatewayError {
  const { code, message, hint, place } = error;
  return new GatewayError(code, message, {
    ...((error.data ?? data) && { data: { ...error.data, ...data } }),
    ...((error.headers ?? headers) && { headers: { ...error.headers, ...headers } }),
    ...(hint !== undefined && { hint }),
    ...(place && { place }),
    cause: error,
  });
}

/**
 * `cancelled`: the client of a call went away.
 *
 * @example res.once("close", () => res.writableFinished || cancellation.abort(clientGone()));
 */
export function clientGone(): GatewayError {
  return new GatewayError("cancelled", "The client went away before its answer was there.");
}

/**
 * Renders an error as the `error` member of a JSON-RPC response.
 *
 * @example send({ jsonrpc: "2.0", id, error: toRpcError(toGatewayError(thrown)) });
 */
export function toRpcError(error: GatewayError): {
  code: number;
  message: string;
  data: Record<string, unknown>;
} {
  return {
    code: RPC_CODE[error.code] ?? -32000,
    message: error.message,
    data: {
      ...error.data,
      ...(error.hint !== undefined && { hint: error.hint }),
      code: error.code,
    },
  };
}
