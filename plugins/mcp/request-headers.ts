import type { IncomingHttpHeaders } from "node:http";
import type { Json, Tool } from "propylon";
import { isObject } from "propylon/kit";
import type { Request } from "./client-message.ts";
import { headerValue, mismatch } from "./client-message.ts";
import type { Fault } from "./protocol.ts";

/** Which parameter `Mcp-Name` repeats, by method (2026-07-28, standard request headers). */
const NAME_SOURCE: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  // SEP-2663, "Streamable HTTP: Routing Headers".
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** One tool argument that must be repeated as a header (`x-mcp-header` in the tool's schema). */
export interface ParamHeader {
  readonly path: readonly string[];
  /** Lower case, with the `mcp-param-` prefix. */
  readonly header: string;
  readonly numeric: boolean;
}

/**
 * Checks that the standard headers of a 2026-07-28 request say what its body says. The body alone decides what happens;
 * an intermediary that decided by the headers must not be misled.
 */
export function checkStandardHeaders(
  request: Request,
  headers: IncomingHttpHeaders,
): Fault | undefined {
  if (headers["mcp-protocol-version"] === undefined) return missing("MCP-Protocol-Version");
  const method = headerValue(headers["mcp-method"]);
  if (method === undefined) return missing("Mcp-Method");
  if (method !== request.method)
    return mismatch("Mcp-Method", "Mcp-Method names another method than the body");
  const source = NAME_SOURCE.get(request.method);
  const expected = source === undefined ? undefined : request.params?.[source];
  if (typeof expected !== "string") return undefined;
  const name = headerValue(headers["mcp-name"]);
  if (name === undefined) return missing("Mcp-Name");
  const decoded = decodeHeader(name);
  if (decoded === undefined) return mismatch("Mcp-Name", "Mcp-Name is not valid Base64");
  return decoded === expected
    ? undefined
    : mismatch("Mcp-Name", `Mcp-Name is not the body's params.${source}`);
}

/** Checks the `Mcp-Param-*` headers of a tool call against its arguments. */
export function checkParamHeaders(
  declared: readonly ParamHeader[],
  args: Json | undefined,
  headers: IncomingHttpHeaders,
): Fault | undefined {
  for (const { path, header, numeric } of declared) {
    const value = valueAt(args, path);
    const expected = primitiveText(value);
    if (expected === undefined) continue;
    const given = headerValue(headers[header]);
    if (given === undefined) return missing(header);
    const decoded = decodeHeader(given);
    if (decoded === undefined) return mismatch(header, `${header} is not valid Base64`);
    const same =
      decoded === expected ||
      (numeric && /^-?\d+(\.\d+)?$/.test(decoded) && Number(decoded) === value);
    if (!same) return mismatch(header, `${header} is not the body's argument ${path.join(".")}`);
  }
  return undefined;
}

const declarations = new WeakMap<Tool, readonly ParamHeader[]>();

/** The arguments of a tool that must come as headers too; found once per tool. */
export function paramHeaders(tool: Tool): readonly ParamHeader[] {
  let found = declarations.get(tool);
  if (found === undefined) {
    found = findParamHeaders(tool.inputSchema, []);
    declarations.set(tool, found);
  }
  return found;
}

/** Only properties reachable through `properties` count; deeper than 16 levels nobody declares headers. */
function findParamHeaders(schema: unknown, path: readonly string[]): ParamHeader[] {
  if (!isObject(schema) || path.length > 16) return [];
  const name = schema["x-mcp-header"];
  const own =
    typeof name === "string" && path.length > 0 ? [toParamHeader(name, path, schema["type"])] : [];
  const properties = isObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  return [...own, ...properties.flatMap(([key, child]) => findParamHeaders(child, [...path, key]))];
}

function toParamHeader(name: string, path: readonly string[], type: unknown): ParamHeader {
  return {
    path,
    header: `mcp-param-${name.toLowerCase()}`,
    numeric: type === "integer" || type === "number",
  };
}

function missing(header: string): Fault {
  return mismatch(header, `the ${header} header is missing`);
}

function valueAt(root: unknown, path: readonly string[]): unknown {
  let node = root;
  for (const key of path) {
    if (!isObject(node) || !Object.hasOwn(node, key)) return undefined;
    node = node[key];
  }
  return node;
}

/** How a primitive is written in a header; `undefined` for what cannot be (objects, unsafe integers). */
function primitiveText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Undoes `=?base64?...?=`; other values stand for themselves. `undefined` when the Base64 or its UTF-8 is broken. */
function decodeHeader(value: string): string | undefined {
  if (!value.startsWith("=?base64?") || !value.endsWith("?=")) return value;
  const encoded = value.slice(9, -2);
  if (!BASE64.test(encoded)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(encoded, "base64"));
  } catch {
    return undefined;
  }
}
