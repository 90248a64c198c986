import { GatewayError, type Json, type RouteEvent } from "propylon";
import { parseJson, isObject } from "propylon/kit";

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

/**
 * The JSON object in the body of a request; no body counts as `{}`.
 *
 * @throws {GatewayError} `unsupported_media_type`, `bad_request` for invalid JSON or UTF-8, `invalid` for what is not an
 * object,
 * `too_large` beyond the gateway's `limits.body`
 */
export async function readToolArguments({ req, context }: RouteEvent): Promise<Json> {
  const body = Buffer.from(await req.arrayBuffer());
  const type = req.headers.get("content-type");
  // None at all is taken for JSON, as by mcpo. A page of a stranger can leave it out too, and is refused by its Origin.
  if (body.length > 0 && type !== null && !isJsonType(type))
    throw new GatewayError("unsupported_media_type", "The body must be JSON.", {
      hint: "Send content-type: application/json.",
    });
  return toObject(body, context.maxDepth);
}

/** Whether a content type is one of JSON. */
export function isJsonType(type: string | null | undefined): boolean {
  return type === "application/json" || (typeof type === "string" && JSON_TYPE.test(type));
}

/**
 * The JSON object in a body; none at all counts as `{}`.
 *
 * @throws {GatewayError} `bad_request` for invalid JSON or UTF-8, `invalid` for what is not an object
 */
export function toObject(body: Buffer, maxDepth: number): Json {
  if (body.length === 0) return {};
  const value = parseJson(body, maxDepth);
  if (isObject(value)) return value;
  throw new GatewayError("invalid", "The body must be a JSON object.", {
    data: { path: "" },
    hint: "Send the arguments by name, or {} for none.",
  });
}
