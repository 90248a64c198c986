import { isGatewayError, type RouteEvent, type RouteHandler } from "propylon";
import { OauthError } from "../oauth-error.ts";
import { messagePage } from "./page.ts";

/** Told of every refusal. */
export type OnRefusal = (error: OauthError) => void;

/** An endpoint that programs ask: its errors are those of RFC 6749 section 5.2. */
export function jsonEndpoint(
  answer: (event: RouteEvent) => Promise<object>,
  onRefusal: OnRefusal,
  status = 200,
): RouteHandler {
  return async (event) => {
    try {
      return json(status, await answer(event));
    } catch (thrown) {
      const error = toOauthError(thrown);
      onRefusal(error);
      return json(
        error.status,
        { error: error.code, error_description: error.message },
        headersOf(error),
      );
    }
  };
}

/** An endpoint that people's browsers come to: its errors are pages. */
export function pageEndpoint(
  answer: (event: RouteEvent) => Promise<Response>,
  onRefusal: OnRefusal,
): RouteHandler {
  return async (event) => {
    try {
      return await answer(event);
    } catch (thrown) {
      const error = toOauthError(thrown);
      onRefusal(error);
      return errorPage(error);
    }
  };
}

/** Tells a person, and nobody else, that a login cannot go on. */
export function errorPage(error: OauthError): Response {
  const page = messagePage(error.status, "This login cannot go on", error.message);
  for (const [name, value] of Object.entries(headersOf(error))) page.headers.set(name, value);
  return page;
}

/** @throws what is neither told to anyone nor expected */
export function toOauthError(thrown: unknown): OauthError {
  if (thrown instanceof OauthError) return thrown;
  if (isGatewayError(thrown) && thrown.code === "unavailable")
    return new OauthError(
      "temporarily_unavailable",
      "The gateway cannot read its store at the moment. Try again later.",
      {
        status: 503,
        retryAfter: 5,
        cause: thrown,
      },
    );
  if (isGatewayError(thrown) && thrown.status < 500)
    return new OauthError("invalid_request", thrown.message.replaceAll(/["\\]/g, "'"), {
      status: thrown.status,
      cause: thrown,
    });
  throw thrown;
}

function headersOf({ code, status, retryAfter }: OauthError): Record<string, string> {
  return {
    ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
    // RFC 6749 section 5.2: a 401 says how a client proves itself.
    ...(code === "invalid_client" &&
      status === 401 && { "www-authenticate": 'Basic realm="propylon"' }),
  };
}

function json(status: number, body: object, headers: Record<string, string> = {}): Response {
  return Response.json(body, {
    status,
    headers: { "cache-control": "no-store", pragma: "no-cache", ...headers },
  });
}
