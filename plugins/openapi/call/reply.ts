import { FastResponse } from "srvx";
import { GatewayError, type Answer, type ErrorCode, type Json } from "propylon";
import { isObject, writeJson } from "propylon/kit";
import { META_RETRY_AFTER, renderError, type RpcError } from "propylon/internal";
import type { Format, OpenapiOptions } from "../options.ts";
import { outputItems, plainValue } from "./output.ts";

/** Longest part of a tool's own words in an error message. */
const MAX_MESSAGE = 2_000;

/** JSON-RPC errors whose meaning has a code of ours; all others are `upstream_error`. */
const RPC_CODES: Readonly<Record<number, ErrorCode>> = {
  [-32602]: "invalid",
  [-32001]: "timeout",
  [-32002]: "not_found",
};

/**
 * The body of a successful call: `{ ok, result, output: { items } }`, without `output`, or the bare value.
 *
 * @throws {GatewayError} `upstream_error` for a result that nests too deeply to be written
 */
export function renderResult(result: Json, format: Format): string {
  const items = outputItems(result);
  const value = plainValue(items);
  try {
    if (format === "raw") return writeJson(value);
    if (format === "result") return writeJson({ ok: true, result: value });
    return writeJson({ ok: true, result: value, output: { items } });
  } catch (cause) {
    throw new GatewayError("upstream_error", "The tool's result nests too deeply.", { cause });
  }
}

/**
 * Why an answer is not a success: the server refused, the tool failed, or it has a question that nobody here can answer.
 * `undefined` for a result.
 */
export function failureOf(answer: Answer): GatewayError | undefined {
  if (answer.isRpcError) return refusal(answer.error!);
  const result = answer.result!;
  if (result["isError"] === true) return toolFailure(result, answer.isInvalid);
  if (result["resultType"] !== "input_required") return undefined;
  return new GatewayError(
    "invalid",
    "The tool asks its user something before it goes on, and plain HTTP cannot carry the question.",
    { hint: "Call this tool over MCP.", data: { resultType: "input_required" } },
  );
}

function refusal({ code, message, data }: RpcError): GatewayError {
  return new GatewayError(RPC_CODES[code] ?? "upstream_error", shorten(message), {
    data: { rpc: { code, ...(data !== undefined && { data }) } },
  });
}

/** How servers of the official SDKs (TypeScript, Python) report wrong arguments: as the tool's own failure. */
const WRONG_ARGUMENTS = /^(?:MCP error -32602:|Input validation error:)/;

/** The tool's own report of its failure: its words, and all of its content as data. */
function toolFailure(result: Json, isInvalid: boolean): GatewayError {
  const { content, structuredContent, _meta: meta } = result;
  const wait = isObject(meta) ? meta[META_RETRY_AFTER] : undefined;
  const blocks = Array.isArray(content) ? (content as Json[]) : [];
  const words = blocks.flatMap(({ type, text }) =>
    type === "text" && typeof text === "string" ? [text] : [],
  );
  const text = words.join("\n");
  const code = isInvalid || WRONG_ARGUMENTS.test(text) ? "invalid" : "upstream_error";
  return new GatewayError(code, shorten(text) || "The tool failed.", {
    data: {
      isError: true,
      content: blocks,
      ...(structuredContent !== undefined && { structuredContent }),
    },
    // Any server can write it: what is not a number of seconds is not a header.
    ...(isSeconds(wait) && { headers: { "retry-after": String(wait) } }),
  });
}

function isSeconds(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function shorten(text: string): string {
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text;
}

/** A JSON answer. */
export function respond(
  status: number,
  body: string,
  headers?: Readonly<Record<string, string>>,
): Response {
  return new FastResponse(body, {
    status,
    headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
  });
}

/** HTTP status of a failed call; that of a tool's own failure is the operator's choice. */
export function httpStatusOf(
  error: GatewayError,
  { toolFailureStatus }: Pick<OpenapiOptions, "toolFailureStatus">,
): number {
  const isTools = error.code === "upstream_error" && error.data?.["isError"] === true;
  return isTools ? toolFailureStatus : error.status;
}

/** An error answer that is not the gateway's fault and so none for its log, in the form the router uses. */
export function respondFailure(
  error: GatewayError,
  status: number,
  accept: string | null,
  headers?: Readonly<Record<string, string>>,
): Response {
  const { type, body } = renderError(error, accept);
  return respond(status, body, { "content-type": type, ...error.headers, ...headers });
}
