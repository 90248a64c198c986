import type { Json } from "propylon";
import { writeJson } from "propylon/kit";
import { HEADER_NAME, HEADER_VALUE, lowerCaseNames } from "propylon/internal";
import { encodeBody } from "./body.ts";
import { encode, encodeReserved, WrongArgument } from "./encode.ts";
import { fitValue } from "./fit.ts";
import type { ApiRequest } from "./http.ts";
import type { Api } from "./reader.ts";
import type { ApiTool, SentBody, SentParameter } from "./reading/tool.ts";
import { pairs, segment, withoutNulls } from "./styles.ts";

/**
 * Makes the request of a tool call. Nothing of the inbound request gets into it but the arguments.
 *
 * @param headers the operator's; they win over parameters
 * @throws {WrongArgument} for an argument that is missing or cannot be sent
 */
export function makeRequest(
  tool: ApiTool,
  args: Json,
  { base, originals }: Pick<Api, "base" | "originals">,
  headers: Readonly<Record<string, string>>,
): ApiRequest {
  const { parameters, body } = tool;
  const given = [...parameters].flatMap(([argument, parameter]) =>
    give(argument, parameter, args[argument], tool, originals),
  );
  const at = (place: SentParameter["in"]): Given[] =>
    given.filter(({ parameter }) => parameter.in === place);
  const query = at("query").flatMap((each) => inQuery(each));
  const search = [...(base.search === "" ? [] : [base.search.slice(1)]), ...query].join("&");
  const target = targetOf(tool.path, at("path"));
  const encoded = body && writeBody(body, args, tool, originals);
  return {
    origin: base.origin,
    method: tool.method,
    path: `${base.pathname.replace(/\/+$/, "")}${target}${search && `${target.includes("?") ? "&" : "?"}${search}`}`,
    headers: {
      accept: "application/json, */*;q=0.5",
      ...cookieHeader(at("cookie")),
      ...Object.fromEntries(at("header").map((each) => inHeader(each))),
      ...(encoded && { "content-type": encoded.contentType }),
      ...lowerCaseNames(headers),
    },
    body: encoded?.content,
  };
}

/** An argument on its way into a request. */
interface Given {
  readonly argument: string;
  readonly parameter: SentParameter;
  readonly value: unknown;
}

/** A null is how models leave out what is optional; where the text is JSON, it can be said. */
function give(
  argument: string,
  parameter: SentParameter,
  written: unknown,
  { tool: { inputSchema } }: ApiTool,
  originals: ReadonlyMap<string, string>,
): Given[] {
  if (written === undefined || written === null) {
    if (parameter.required) throw new WrongArgument(`"${argument}" is missing.`);
    return [];
  }
  const properties = inputSchema["properties"] as Json;
  const fitted = fitValue(written, properties[argument], inputSchema, originals);
  const value = parameter.json ? fitted : withoutNulls(fitted);
  // A list of nothing but nulls says nothing either.
  if (!parameter.required && isEmpty(value) && !isEmpty(written)) return [];
  return [{ argument, parameter, value }];
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** The path, and the query that a document may have written into it. */
function targetOf(template: string, given: readonly Given[]): string {
  const values = new Map(given.map((each) => [each.parameter.name, each]));
  // The name of a placeholder may have a slash.
  return template.replaceAll(/(?:\{[^{}]+\}|[^/{}])+/g, (part) => {
    const filled = part.replaceAll(/\{([^{}]+)\}/g, (_, name: string) =>
      inPath(name, values.get(name)),
    );
    if (filled !== part) checkSegment(filled, part);
    return filled;
  });
}

function inPath(name: string, given: Given | undefined): string {
  if (!given) throw new WrongArgument(`"${name}" is missing.`);
  const { parameter, value } = given;
  if (parameter.json) return encode(writeJson(value));
  return segment(parameter.name, value, parameter.style, parameter.explode, encode);
}

/** An empty or dotted segment would make it another path: `..` climbs, percent-encoded or not (WHATWG URL, 4.4). */
function checkSegment(filled: string, part: string): void {
  if (filled !== "" && !/^(?:\.|%2e){1,2}$/i.test(filled)) return;
  throw new WrongArgument(`"${part.replaceAll(/[{}]/g, "")}" must not be empty, "." or "..".`);
}

function inQuery({ parameter, value }: Given): string[] {
  const { name, style, explode, json, allowReserved } = parameter;
  const write = allowReserved ? encodeReserved : encode;
  if (json) return [`${encode(name)}=${write(writeJson(value))}`];
  return pairs(name, value, style, explode, write);
}

function inHeader({ argument, parameter, value }: Given): [string, string] {
  const { name, explode, json } = parameter;
  const text = json ? writeJson(value) : segment(name, value, "simple", explode, (each) => each);
  // A line break would let a value add headers of its own, or a second request.
  if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(text))
    throw new WrongArgument(`"${argument}" has characters that a header cannot carry.`);
  return [name.toLowerCase(), text];
}

function cookieHeader(given: readonly Given[]): Record<string, string> {
  const cookies = given.flatMap(({ parameter, value }) =>
    pairs(parameter.name, value, "form", parameter.explode, encode),
  );
  return cookies.length > 0 ? { cookie: cookies.join("; ") } : {};
}

function writeBody(
  body: SentBody,
  args: Json,
  { parameters, tool: { inputSchema } }: ApiTool,
  originals: ReadonlyMap<string, string>,
): ReturnType<typeof encodeBody> | undefined {
  const { argument, chooser } = body;
  const properties = inputSchema["properties"] as Json;
  const value = argument === undefined ? restOf(args, parameters, chooser) : args[argument];
  const isNothing =
    value === undefined ||
    (value === null && !body.required) ||
    (argument === undefined && Object.keys(value as Json).length === 0);
  if (isNothing && (!body.required || value === undefined)) {
    if (body.required) throw new WrongArgument(`"${argument ?? "body"}" is missing.`);
    return undefined;
  }
  const schema = argument === undefined ? inputSchema : properties[argument];
  const fitted = fitValue(value, schema, inputSchema, originals);
  return encodeBody(typeOf(body, args, properties), fitted, body);
}

function typeOf({ contentType, chooser }: SentBody, args: Json, properties: Json): string {
  const chosen = chooser === undefined ? undefined : args[chooser];
  if (chosen === undefined || chosen === null) return contentType;
  const { enum: known } = properties[chooser!] as { enum: unknown[] };
  if (typeof chosen === "string" && known.includes(chosen)) return chosen;
  throw new WrongArgument(`"${chooser!}" must be one of ${known.join(", ")}.`);
}

function restOf(
  args: Json,
  parameters: ReadonlyMap<string, unknown>,
  chooser: string | undefined,
): Json {
  return Object.fromEntries(
    Object.entries(args).filter(([key]) => !parameters.has(key) && key !== chooser),
  );
}
