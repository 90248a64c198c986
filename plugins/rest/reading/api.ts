import type { Json } from "propylon";
import { isObject } from "propylon/kit";
import { isSameHost } from "propylon/internal";
import type { ApiDocument } from "./document.ts";
import {
  isSelected,
  operationsOf,
  type Operation,
  type Parameter,
  type OperationFilter,
} from "./operations.ts";
import type { OutputSchemas } from "./output.ts";
import { broken, parseUrl } from "./references.ts";
import { operationTools, type ApiTools } from "./tool.ts";

/** Longest address that a document may name. */
const MAX_URL = 2_000;
/** Operations of one API. */
const MAX_OPERATIONS = 20_000;
/** Characters of what an API says of itself. */
const MAX_INSTRUCTIONS = 20_000;

/** What of an entry's options decides how its document becomes tools. */
export interface ApiSettings {
  readonly baseUrl: string | undefined;
  readonly operations: OperationFilter;
  readonly outputSchemas: OutputSchemas;
  /** Names of the headers that the operator sets, in lower case. */
  readonly headers: readonly string[];
}

/** An API as read from one version of its document. */
export interface ReadApi extends ApiTools {
  /** Where requests go; never with a fragment. */
  readonly base: string;
  readonly title: string | undefined;
  readonly version: string | undefined;
  readonly description: string | undefined;
  /** Operations that are not offered because they are at another host. */
  readonly elsewhere: readonly string[];
}

/**
 * Makes an API of its document.
 *
 * @param location where the document was read
 * @throws {GatewayError} `invalid` for a document that cannot be used
 */
export function makeApi(document: ApiDocument, location: URL, settings: ApiSettings): ReadApi {
  const { root, references } = document;
  const base = baseOf(root, location, settings.baseUrl);
  const chosen = operationsOf(root, references).filter((operation) =>
    isSelected(operation, settings.operations),
  );
  if (chosen.length > MAX_OPERATIONS)
    throw broken(
      `The document has more than ${MAX_OPERATIONS} operations.`,
      "Choose some of them with operations.",
    );
  const here = chosen.filter((operation) => isHere(operation, base, location, settings));
  const isElsewhere = new Set(chosen);
  for (const each of here) isElsewhere.delete(each);
  const info = isObject(root["info"]) ? root["info"] : {};
  return {
    ...operationTools(here, {
      references,
      outputSchemas: settings.outputSchemas,
      isSet: (parameter) => isSet(parameter, base, settings.headers),
    }),
    base: base.href,
    title: textOf(info["title"]),
    version: textOf(info["version"]),
    description: textOf(info["description"]),
    elsewhere: [...isElsewhere].map((each) => `${each.method} ${each.path}`),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value.slice(0, MAX_INSTRUCTIONS) : undefined;
}

/** What the operator sends with every request is nothing that a caller has to say, e.g. a key in a header or the query. */
function isSet({ in: place, name }: Parameter, base: URL, headers: readonly string[]): boolean {
  if (place === "header") return headers.includes(name.toLowerCase());
  if (place === "cookie") return headers.includes("cookie");
  return place === "query" && base.searchParams.has(name);
}

/**
 * A document decides which address the gateway talks to, with the operator's headers: only that of its own host is taken from
 * it, or it could reach inside the operator's network (SSRF).
 */
function baseOf(root: Json, location: URL, chosen: string | undefined): URL {
  const found = chosen === undefined ? serverUrl(root["servers"], location) : new URL(chosen);
  found.hash = "";
  if (chosen !== undefined) return found;
  if (location.protocol === "file:")
    throw broken(
      "The document is a file, so it cannot say where the API is.",
      `Set baseUrl${found.protocol === "file:" ? "" : `, e.g. to ${found.origin}${found.pathname}`}.`,
    );
  if (!isSameHost(found, location))
    throw broken(
      `The document is on ${location.host} and says that the API is on ${found.host}.`,
      `Set baseUrl to ${found.origin}${found.pathname} if that is right.`,
    );
  return found;
}

/** The first server with its variables at their defaults, relative to the document; `/` when there is none. */
function serverUrl(servers: unknown, location: URL): URL {
  const first: unknown = Array.isArray(servers) ? servers[0] : undefined;
  const written = isObject(first) && typeof first["url"] === "string" ? first["url"] : "/";
  const variables = isObject(first) && isObject(first["variables"]) ? first["variables"] : {};
  const filled = written.replaceAll(/\{([^{}]+)\}/g, (match, name: string) => {
    const variable = variables[name];
    return isObject(variable) && typeof variable["default"] === "string"
      ? variable["default"]
      : match;
  });
  // What is done to an address takes time by its length, for each call.
  const url = filled.length > MAX_URL ? undefined : parseUrl(filled, location.href);
  if (!url || !/^(?:https?|file):$/.test(url.protocol))
    throw broken(
      `The document's server ${JSON.stringify(written.slice(0, 100))} is not a URL.`,
      "Set baseUrl.",
    );
  return url;
}

/** Whether an operation is at the base: with servers of its own only if the operator chose the base, or they are the same. */
function isHere(operation: Operation, base: URL, location: URL, settings: ApiSettings): boolean {
  if (settings.baseUrl !== undefined || operation.servers === undefined) return true;
  const own = serverUrl(operation.servers, location);
  return own.origin === base.origin && own.pathname === base.pathname;
}
