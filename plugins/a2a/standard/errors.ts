import { toGatewayError, type ErrorCode } from "propylon";
import { wordsOf } from "propylon/internal";
import type { Sdk } from "./sdk.ts";

/** The error of A2A that says what a code of ours says, where there is one. */
const CLASSES = {
  not_found: "TaskNotFoundError",
  exists: "UnsupportedOperationError",
  invalid: "RequestMalformedError",
  bad_request: "RequestMalformedError",
  unsupported_media_type: "ContentTypeNotSupportedError",
  upstream_error: "InvalidAgentResponseError",
  result_too_large: "InvalidAgentResponseError",
} as const satisfies Partial<Record<ErrorCode, keyof Sdk>>;

/**
 * Whatever was thrown as an error of A2A 1.0 (specification 3.3.2). What A2A has no word for is an `A2AError` (JSON-RPC -32603)
 * whose `ErrorInfo.metadata.code` is ours; what is unknown says nothing of itself.
 */
export function toStandardError(sdk: Sdk, thrown: unknown): Error {
  if (thrown instanceof sdk.A2AError) return thrown;
  const error = toGatewayError(thrown);
  const { code } = error;
  const options = { message: wordsOf(error), metadata: { code }, cause: thrown };
  const name = Object.hasOwn(CLASSES, code) ? CLASSES[code as keyof typeof CLASSES] : undefined;
  return name === undefined ? new sdk.A2AError(options) : new sdk[name](options);
}

/** HTTP status of an error (A2A 1.0, section 5.4); what A2A has no word for keeps ours, e.g. 503 while draining. */
export function restStatusOf(sdk: Sdk, error: Error): number {
  const status = sdk.restStatusFor(error);
  const hasWord = status !== 500 || error instanceof sdk.InvalidAgentResponseError;
  return hasWord ? status : toGatewayError(error.cause ?? error).status;
}
