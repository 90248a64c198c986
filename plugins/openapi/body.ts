import { GatewayError, type Json, type RouteEvent } from "propylon";
import { parseJson, isObject } from "propylon/kit";

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;
/** Deepest nesting of a body. What walks it later recurses: a schema check, JSON.stringify. */
const MAX_DEPTH = 64;

/**
 * The JSON object in the body of a request; no body counts as `{}`.
 *
 * @throws {GatewayError} `unsupported_media_type`, `bad_request` for what is no JSON, `invalid` for what is no object,
 * `too_large` beyond the gateway's `limits.body`
 */
export async function readToolArguments({ req }: RouteEvent): Promise<Json> {
  const text = await req.text();
  const type = req.headers.get("content-type");
  // None at all is taken for JSON, as by mcpo. A page of a stranger can leave it out too, and is refused by its Origin.
  if (text !== "" && type !== null && !isJsonType(type))
    throw new GatewayError("unsupported_media_type", "The body must be JSON.", {
      hint: "Send content-type: application/json.",
    });
  return toObject(text);
}

/** Whether a content type is one of JSON. */
export function isJsonType(type: string | null | undefined): boolean {
  return type === "application/json" || (typeof type === "string" && JSON_TYPE.test(type));
}

/**
 * The JSON object in a text; none at all counts as `{}`.
 *
 * @throws {GatewayError} `bad_request` for what is no JSON, `invalid` for what is no object
 */
export function toObject(text: string): Json {
  if (text === "") return {};
  const value = parseJson(Buffer.from(text), MAX_DEPTH);
  if (isObject(value)) return value;
  throw new GatewayError("invalid", "The body must be a JSON object.", {
    data: { path: "" },
    hint: "Send the arguments by name, or {} for none.",
  });
}

/** Whether a JSON text nests no deeper than that many levels. Of what is not JSON, the parser thinks the rest. */
export function isShallow(text: string, levels: number): boolean {
  // Each level takes an opening and a closing character.
  if (text.length <= levels * 2) return true;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at + 1);
    else if (character === "{" || character === "[") {
      if (++depth > levels) return false;
    } else if (character === "}" || character === "]") depth--;
  }
  return true;
}

function endOfString(text: string, from: number): number {
  let at = from;
  for (; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') break;
  }
  return at;
}
