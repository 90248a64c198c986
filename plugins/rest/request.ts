import type { Json } from "propylon";
import { HEADER_NAME, HEADER_VALUE, lowerCaseNames } from "propylon/kit";
import { encodeBody, WrongArgument } from "./body.ts";
import type { Parameter } from "./operations.ts";
import { pairs, segment } from "./styles.ts";
import type { ApiTool, BodyArgument } from "./tool.ts";

/** A request as it goes out; `path` includes the query. */
export interface ApiRequest {
  readonly origin: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
}

/**
 * Makes the request of a tool call. Nothing of the inbound request gets into it but the arguments.
 *
 * @param headers the operator's; they win over parameters
 * @throws {WrongArgument} for an argument that is missing or cannot be sent
 */
export function makeRequest(
  { operation, parameters, body }: ApiTool,
  args: Json,
  base: URL,
  headers: Readonly<Record<string, string>>,
): ApiRequest {
  const given = [...parameters].flatMap(([argument, parameter]) => {
    const value = args[argument];
    if (value !== undefined) return [{ argument, parameter, value }];
    if (parameter.required) throw new WrongArgument(`"${argument}" is missing.`);
    return [];
  });
  const at = (place: Parameter["in"]): Given[] =>
    given.filter(({ parameter }) => parameter.in === place);
  const query = at("query").flatMap((each) => inQuery(each));
  const search = [...(base.search === "" ? [] : [base.search.slice(1)]), ...query].join("&");
  const encoded = body && writeBody(body, args, parameters);
  return {
    origin: base.origin,
    method: operation.method,
    path: `${base.pathname.replace(/\/+$/, "")}${pathOf(operation.path, at("path"))}${search && `?${search}`}`,
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
  readonly parameter: Parameter;
  readonly value: unknown;
}

/** @throws {WrongArgument} for half a surrogate pair, which has no UTF-8 */
function encode(text: string): string {
  try {
    // RFC 3986: these four are reserved, and encodeURIComponent leaves them.
    return encodeURIComponent(text).replaceAll(
      /[!'()*]/g,
      (found) => `%${found.codePointAt(0)!.toString(16).toUpperCase()}`,
    );
  } catch {
    throw new WrongArgument("An argument is not valid Unicode.");
  }
}

/** What RFC 3986 reserves, but for what ends a value, a query or a pair: an argument must not become two parameters. */
const RESERVED = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/g;

function encodeReserved(text: string): string {
  return encode(text).replaceAll(RESERVED, (found) => decodeURIComponent(found));
}

function pathOf(template: string, given: readonly Given[]): string {
  const values = new Map(given.map((each) => [each.parameter.name, each]));
  return template
    .split("/")
    .map((part) => {
      const filled = part.replaceAll(/\{([^{}]+)\}/g, (_, name: string) =>
        inPath(name, values.get(name)),
      );
      if (filled !== part) checkSegment(filled, part);
      return filled;
    })
    .join("/");
}

function inPath(name: string, given: Given | undefined): string {
  if (!given) throw new WrongArgument(`"${name}" is missing.`);
  const { parameter, value } = given;
  if (parameter.json) return encode(JSON.stringify(value));
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
  if (json) return [`${encode(name)}=${write(JSON.stringify(value))}`];
  return pairs(name, value, style, explode, write);
}

function inHeader({ argument, parameter, value }: Given): [string, string] {
  const { name, explode, json } = parameter;
  const text = json
    ? JSON.stringify(value)
    : segment(name, value, "simple", explode, (each) => each);
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
  { body, argument, properties }: BodyArgument,
  args: Json,
  parameters: ReadonlyMap<string, unknown>,
): ReturnType<typeof encodeBody> | undefined {
  const value = argument === undefined ? rest(args, parameters) : args[argument];
  const isNothing =
    value === undefined || (argument === undefined && Object.keys(value as Json).length === 0);
  if (!isNothing || (body.required && value !== undefined))
    return encodeBody(body.contentType, value, properties);
  if (body.required) throw new WrongArgument(`"${argument ?? "body"}" is missing.`);
  return undefined;
}

function rest(args: Json, parameters: ReadonlyMap<string, unknown>): Json {
  return Object.fromEntries(Object.entries(args).filter(([key]) => !parameters.has(key)));
}
