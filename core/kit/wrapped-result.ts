import type { Json } from "./types.ts";
import { isObject } from "./json.ts";

const MARK = "propylon/wrapped";

/**
 * The result of a tool whose output schema says that it is an object, where it is something else: clients of the official SDKs take
 * no result without structured content then, and MCP allows nothing but objects there.
 *
 * @param content what the result is
 * @param value the same as a JSON value; `undefined` where it has none
 *
 * @example const result = wrapResult([{ type: "text", text: "[1,2]" }], [1, 2]); // structuredContent: { result: [1, 2] }
 */
export function wrapResult(content: readonly Json[], value: unknown): Json {
  return {
    content,
    structuredContent: value === undefined ? {} : { result: value },
    _meta: { [MARK]: true },
  };
}

/**
 * The other way round of {@link wrapResult}: whether a result is wrapped, and the value in it.
 *
 * @example const value = unwrapResult(result)?.["result"] ?? result["structuredContent"];
 */
export function unwrapResult({ structuredContent, _meta }: Json): Json | undefined {
  const isWrapped = isObject(_meta) && _meta[MARK] === true && isObject(structuredContent);
  return isWrapped ? structuredContent : undefined;
}
