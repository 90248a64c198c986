import { type ErrorDetails, GatewayError, isGatewayError } from "./errors.ts";

/** Network errors as a person would say them. */
const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was reset",
  ENOTFOUND: "its host name is not known",
  EAI_AGAIN: "its host name could not be looked up",
  EHOSTUNREACH: "its host cannot be reached",
  ENETUNREACH: "its network cannot be reached",
  ETIMEDOUT: "the connection timed out",
  EPIPE: "the connection was closed",
  ERR_STREAM_PREMATURE_CLOSE: "the connection was closed",
  ERR_HTTP_CONTENT_LENGTH_MISMATCH: "the answer ended before its announced length",
  ERR_INVALID_CHAR: "a header for it holds characters that headers cannot have",
  HPE_HEADER_OVERFLOW: "its response headers are too large",
  UND_ERR_CONNECT_TIMEOUT: "the connection timed out",
  UND_ERR_SOCKET: "the connection was closed",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "the answer ended before its announced length",
  UND_ERR_HEADERS_OVERFLOW: "its response headers are too large",
  CERT_HAS_EXPIRED: "its certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate chain is self-signed",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate cannot be verified",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
};

/**
 * `upstream_error`: the network failed between the gateway and a server. Names the server and the cause, no address.
 *
 * @example
 * const response = await request(url).catch((error: unknown) => {
 *   throw networkFault(this.name, error);
 * });
 */
export function networkFault(server: string, error: unknown): GatewayError {
  // The gateway itself refused, for instance an address.
  if (isGatewayError(error)) return error;
  const code = error instanceof Error ? codeOf(error) : undefined;
  return new GatewayError(
    "upstream_error",
    `Server "${server}" cannot be used: ${networkReason(error)}.`,
    { data: { server, ...(code && { cause: code }) }, cause: error },
  );
}

/**
 * `upstream_error`: what a server did that it should not, as the end of a sentence that begins with its name. Neither headers nor
 * bodies of the server belong into it: they may hold secrets.
 *
 * @example throw serverFault(this.name, "ended its answer without a task");
 */
export function serverFault(
  server: string,
  what: string,
  { data, ...details }: ErrorDetails = {},
): GatewayError {
  return new GatewayError("upstream_error", `Server "${server}" ${what}.`, {
    ...details,
    data: { server, ...data },
  });
}

/**
 * `upstream_error`: a server refused with an HTTP status, which is in `data.status`.
 *
 * @param data further facts
 * @param headers what the caller is told over HTTP, e.g. `retry-after`
 * @example if (reply.status !== 200) throw statusFault(this.name, reply.status);
 */
export function statusFault(
  server: string,
  status: number,
  data: object = {},
  headers?: Readonly<Record<string, string>>,
): GatewayError {
  const [what, hint] = wordsOfStatus(status);
  const facts = { status, ...data };
  return serverFault(server, what, {
    data: facts,
    ...(hint !== undefined && { hint }),
    ...(headers && { headers }),
  });
}

function wordsOfStatus(status: number): readonly [what: string, hint?: string] {
  const headers = "Check the headers of this server in the config.";
  if (status === 401) return ["wants authentication (HTTP 401)", headers];
  if (status === 403) return ["denies access (HTTP 403)", headers];
  if (status < 300 || status >= 400) return [`answered with HTTP ${status}`];
  return [
    `redirects (HTTP ${status}), which is not followed`,
    "Put the final URL into the config.",
  ];
}

/**
 * `result_too_large`: a server answered with more than its entry allows.
 *
 * @param limit `maxResult` of the entry, in bytes
 *
 * @example if (size > limit) throw sizeFault(this.name, limit);
 */
export function sizeFault(server: string, limit: number): GatewayError {
  return new GatewayError(
    "result_too_large",
    `Server "${server}" answered with more than ${limit} bytes.`,
    {
      data: { server, limit },
      hint: "Raise maxResult of this server, or ask it for less.",
    },
  );
}

/**
 * What went wrong with a connection, as the end of a sentence: `the connection was refused`. Holds no address and no path.
 *
 * @example const words = networkReason(error); // e.g. "the connection was refused"
 */
export function networkReason(error: unknown): string {
  const code = error instanceof Error ? codeOf(error) : undefined;
  if (code === undefined) return "the connection failed";
  if (Object.hasOwn(CAUSES, code)) return CAUSES[code]!;
  return code.startsWith("HPE_") ? "it does not speak HTTP" : `the connection failed (${code})`;
}

function codeOf(error: Error): string | undefined {
  const { code, cause, errors } = error as Error & { code?: unknown; errors?: unknown[] };
  if (typeof code === "string") return code;
  if (cause instanceof Error) return codeOf(cause);
  const first = errors?.[0];
  return first instanceof Error ? codeOf(first) : undefined;
}
