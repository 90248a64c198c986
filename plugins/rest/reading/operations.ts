import type { Json } from "propylon";
import { matchesWildcard, isObject } from "propylon/kit";
import { broken, type References } from "./references.ts";

const METHODS = ["get", "head", "post", "put", "patch", "delete", "options", "trace"] as const;
/** Parameters that are described elsewhere in the document and are ours to set (OpenAPI 3.1, 4.8.12.1). */
const OWN_HEADERS =
  /^(?:accept|authorization|content-type|content-length|transfer-encoding|connection|host|cookie|propylon-identity)$/i;

/** Where a parameter goes. */
export type ParameterPlace = "path" | "query" | "header" | "cookie";

/** One parameter of an operation. */
export interface Parameter {
  readonly name: string;
  readonly in: ParameterPlace;
  readonly required: boolean;
  readonly description: string | undefined;
  readonly style: string;
  readonly explode: boolean;
  /** Whether reserved characters of the value are sent as they are (OpenAPI 3.1, 4.8.12.2.1). */
  readonly allowReserved: boolean;
  /** Whether the value is written as JSON text (`content` in place of `schema`). */
  readonly json: boolean;
  readonly schema: unknown;
}

/** How one property of a form is written (OpenAPI 3.1, 4.8.15). */
export interface FieldEncoding {
  readonly contentType: string | undefined;
  readonly style: string | undefined;
  readonly explode: boolean | undefined;
  readonly allowReserved: boolean;
}

/** The body of an operation, in the content type that will be sent. */
export interface Body {
  readonly contentType: string;
  /** JSON types that the same schema is documented for, if there is more than one. */
  readonly choices: readonly string[];
  /** By property. */
  readonly encoding: Readonly<Record<string, FieldEncoding>>;
  readonly required: boolean;
  readonly description: string | undefined;
  readonly schema: unknown;
}

/** One operation of an API. */
export interface Operation {
  readonly id: string | undefined;
  /** Upper case. */
  readonly method: string;
  /** As written, with `{name}`. */
  readonly path: string;
  readonly summary: string | undefined;
  readonly description: string | undefined;
  readonly deprecated: boolean;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly body: Body | undefined;
  readonly responses: Json;
  /** Servers of its own, or of its path. */
  readonly servers: unknown;
}

/** Patterns by operationId, `GET /path` or `tag:name`. */
export interface OperationFilter {
  readonly include?: readonly string[] | undefined;
  readonly exclude?: readonly string[] | undefined;
}

/** Every operation of a document in its order. */
export function operationsOf(root: Json, references: References): Operation[] {
  const paths = root["paths"];
  if (paths !== undefined && !isObject(paths)) throw broken("paths is not a map.");
  return Object.entries(paths ?? {}).flatMap(([path, written]) => {
    const item = references.follow(written);
    if (!path.startsWith("/") || !isObject(item)) return [];
    return METHODS.flatMap((method) => {
      const operation = item[method];
      return isObject(operation) ? [readOperation(method, path, operation, item, references)] : [];
    });
  });
}

/** Whether a filter lets an operation through. */
export function isSelected(operation: Operation, { include, exclude }: OperationFilter): boolean {
  const names = [
    `${operation.method} ${operation.path}`,
    ...operation.tags.map((tag) => `tag:${tag}`),
    ...(operation.id === undefined ? [] : [operation.id]),
  ];
  const matches = (pattern: string): boolean =>
    names.some((name) => matchesWildcard(pattern, name));
  return (include?.some(matches) ?? true) && !(exclude?.some(matches) ?? false);
}

function readOperation(
  method: string,
  path: string,
  operation: Json,
  item: Json,
  references: References,
): Operation {
  return {
    id: text(operation["operationId"]),
    method: method.toUpperCase(),
    path,
    summary: text(operation["summary"]) ?? text(item["summary"]),
    description: text(operation["description"]) ?? text(item["description"]),
    deprecated: operation["deprecated"] === true,
    tags: list(operation["tags"]).filter((tag) => typeof tag === "string"),
    parameters: withPlaceholders(
      path,
      readParameters(item["parameters"], operation["parameters"], references),
    ),
    body: readRequestBody(references.follow(operation["requestBody"]), references),
    responses: isObject(operation["responses"]) ? operation["responses"] : {},
    servers: operation["servers"] ?? item["servers"],
  };
}

/** Those of the operation replace those of its path of the same name and place. */
function readParameters(ofPath: unknown, own: unknown, references: References): Parameter[] {
  const parameters = new Map<string, Parameter>();
  for (const written of [...list(ofPath), ...list(own)]) {
    const parameter = readParameter(references.follow(written), references);
    if (parameter) parameters.set(`${parameter.in} ${parameter.name}`, parameter);
  }
  return [...parameters.values()];
}

/** Documents forget to describe what stands in a path, and it cannot be left out. */
function withPlaceholders(path: string, parameters: readonly Parameter[]): Parameter[] {
  const known = new Set(parameters.filter((each) => each.in === "path").map(({ name }) => name));
  const names = [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => name!);
  const forgotten = [...new Set(names)].filter((name) => !known.has(name));
  return [...parameters, ...forgotten.map((name) => placeholder(name))];
}

function placeholder(name: string): Parameter {
  return {
    name,
    in: "path",
    required: true,
    description: undefined,
    style: "simple",
    explode: false,
    allowReserved: false,
    json: false,
    schema: { type: "string" },
  };
}

function readParameter(node: unknown, references: References): Parameter | undefined {
  if (!isObject(node)) return undefined;
  const { name, in: place, content } = node;
  if (typeof name !== "string" || !isPlace(place)) return undefined;
  if (place === "header" && OWN_HEADERS.test(name)) return undefined;
  const [media] = isObject(content) ? Object.values(content) : [];
  const type = references.follow(media);
  const style =
    text(node["style"]) ?? (place === "query" || place === "cookie" ? "form" : "simple");
  return {
    name,
    in: place,
    required: place === "path" || node["required"] === true,
    description: text(node["description"]),
    style,
    explode: typeof node["explode"] === "boolean" ? node["explode"] : style === "form",
    allowReserved: place === "query" && node["allowReserved"] === true,
    json: isObject(type),
    schema: isObject(type) ? type["schema"] : node["schema"],
  };
}

function isPlace(place: unknown): place is ParameterPlace {
  return place === "path" || place === "query" || place === "header" || place === "cookie";
}

/** The content types we write best, best first. A patch as a list of steps (RFC 6902) is not one that its document describes. */
const PREFERRED: readonly RegExp[] = [
  /^application\/json(?:;|$)/i,
  /^application\/merge-patch\+json\b/i,
  /^application\/(?!json-patch)[\w.-]+\+json\b/i,
  /^application\/json-patch\+json\b/i,
  /^application\/x-www-form-urlencoded\b/i,
  /^multipart\/form-data\b/i,
  /^text\/plain\b/i,
  /./,
];
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i;

function readRequestBody(node: unknown, references: References): Body | undefined {
  if (!isObject(node) || !isObject(node["content"])) return undefined;
  const { content } = node;
  const types = Object.keys(content);
  const contentType = PREFERRED.map((wanted) => types.find((type) => wanted.test(type))).find(
    (type) => type !== undefined,
  );
  if (contentType === undefined) return undefined;
  const schemaAt = (type: string): unknown => {
    const media = references.follow(content[type]);
    return isObject(media) ? media["schema"] : undefined;
  };
  const media = references.follow(content[contentType]);
  return {
    contentType: concrete(contentType),
    choices: choicesOf(types, contentType, schemaAt),
    encoding: isObject(media) ? readEncoding(media["encoding"]) : {},
    required: node["required"] === true,
    description: text(node["description"]),
    schema: schemaAt(contentType),
  };
}

/** A range (`image/*`) cannot be sent. */
function concrete(type: string): string {
  if (!type.includes("*")) return type;
  return /^(?:\*|application)\//.test(type) ? "application/json" : "application/octet-stream";
}

function choicesOf(
  types: readonly string[],
  chosen: string,
  schemaAt: (type: string) => unknown,
): string[] {
  const json = JSON_TYPE.test(chosen) ? types.filter((type) => JSON_TYPE.test(type)) : [];
  if (json.length < 2) return [];
  const same = JSON.stringify(schemaAt(chosen));
  const others = json.filter((type) => type !== chosen && JSON.stringify(schemaAt(type)) === same);
  return others.length > 0 ? [chosen, ...others] : [];
}

function readEncoding(node: unknown): Record<string, FieldEncoding> {
  if (!isObject(node)) return {};
  const entries = Object.entries(node).flatMap(([name, written]): [string, FieldEncoding][] => {
    if (!isObject(written)) return [];
    const { contentType, style, explode, allowReserved } = written;
    const read = {
      contentType: text(contentType),
      style: text(style),
      explode: typeof explode === "boolean" ? explode : undefined,
      allowReserved: allowReserved === true,
    };
    return [[name, read]];
  });
  return Object.fromEntries(entries);
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}
