import { makeCatalogue, type Catalogue, type Json } from "propylon";
import { isObject, isSameHost } from "propylon/kit";
import type { ApiDocument } from "./document.ts";
import { isSelected, operationsOf, type Operation } from "./operations.ts";
import type { ApiOptions } from "./options.ts";
import { broken, parseUrl } from "./references.ts";
import { operationTools, type ApiTool } from "./tool.ts";

/** Longest address that a document may name. */
const MAX_URL = 2_000;

/** An API as read from one version of its document. */
export interface Api {
  /** Where requests go; never with a fragment. */
  readonly base: URL;
  readonly tools: ReadonlyMap<string, ApiTool>;
  readonly catalogue: Catalogue;
  /** Of the document. */
  readonly hash: string;
  /** Operations that are not offered because they are at another host. */
  readonly elsewhere: readonly string[];
}

/**
 * Makes an API of its document.
 *
 * @param location where the document was read
 * @throws {GatewayError} `invalid` for a document that cannot be used
 */
export function makeApi(document: ApiDocument, location: URL, options: ApiOptions): Api {
  const { root, references, hash } = document;
  const base = baseOf(root, location, options.baseUrl);
  const chosen = operationsOf(root, references).filter((operation) =>
    isSelected(operation, options.operations ?? {}),
  );
  const here = chosen.filter((operation) => isHere(operation, base, location, options));
  const tools = operationTools(here, references);
  const info = isObject(root["info"]) ? root["info"] : {};
  return {
    base,
    tools,
    catalogue: catalogueOf(tools, info),
    hash,
    elsewhere: chosen
      .filter((each) => !here.includes(each))
      .map((each) => `${each.method} ${each.path}`),
  };
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
function isHere(operation: Operation, base: URL, location: URL, options: ApiOptions): boolean {
  if (options.baseUrl !== undefined || operation.servers === undefined) return true;
  const own = serverUrl(operation.servers, location);
  return own.origin === base.origin && own.pathname === base.pathname;
}

function catalogueOf(tools: ReadonlyMap<string, ApiTool>, info: Json): Catalogue {
  const { title, version, description } = info;
  return makeCatalogue({
    tools: [...tools.values()].map(({ tool }) => tool),
    ...(typeof description === "string" && { instructions: description }),
    serverInfo: {
      name: typeof title === "string" ? title : "openapi",
      version: typeof version === "string" ? version : "0",
    },
  });
}
