import { basename } from "node:path";
import type { Json } from "propylon";
import { isObject } from "propylon/kit";
import { absolute, broken, References } from "./references.ts";
import { parseText } from "./text.ts";

/** Documents that one may refer to; more are a mistake or an attack. */
const MAX_DOCUMENTS = 20;

/** An OpenAPI document with everything it refers to. */
export interface ApiDocument {
  readonly root: Json;
  readonly references: References;
}

/** Reads the bytes at a place. */
export type ReadBytes = (url: URL) => Promise<Uint8Array>;

/**
 * Reads a document and what it refers to, on the same host or in the same folder.
 *
 * @throws {GatewayError} `invalid` for anything but an OpenAPI 3 document; what `read` throws
 */
export async function readDocument(location: URL, read: ReadBytes): Promise<ApiDocument> {
  const documents = new Map<string, unknown>();
  const waiting = [new URL(location)];
  waiting[0]!.hash = "";
  const seen = new Set([waiting[0]!.href]);
  for (let url = waiting.shift(); url; url = waiting.shift()) {
    if (documents.size === MAX_DOCUMENTS)
      throw broken(`The document refers to more than ${MAX_DOCUMENTS} others.`);
    const value = parseText(await read(url), basename(url.pathname));
    documents.set(
      url.href,
      absolute(value, url, (other) => {
        if (seen.has(other.href)) return;
        seen.add(other.href);
        checkNear(other, location);
        waiting.push(other);
      }),
    );
  }
  const root = checkVersion(documents.values().next().value);
  return { root, references: new References(documents) };
}

/** A document could otherwise make the gateway read any address it can reach (SSRF), or any file. */
function checkNear(other: URL, location: URL): void {
  const near =
    location.protocol === "file:"
      ? other.protocol === "file:" && other.pathname.startsWith(new URL("./", location).pathname)
      : other.origin === location.origin;
  if (!near)
    throw broken(
      "The document refers to another one on a different host or outside its folder.",
      "Bundle both into one document.",
    );
}

function checkVersion(root: unknown): Json {
  if (!isObject(root)) throw broken("The document is not a map with openapi, info and paths.");
  if (root["swagger"] !== undefined)
    throw broken(
      "The document is Swagger 2.0; OpenAPI 3.0 or 3.1 is needed.",
      "Convert it, e.g. with swagger2openapi.",
    );
  const version = root["openapi"];
  if (typeof version !== "string")
    throw broken(
      "The document does not say which version of OpenAPI it is.",
      "Add openapi: 3.1.0.",
    );
  if (!/^3\.[012]\./.test(`${version}.`))
    throw broken(`OpenAPI ${JSON.stringify(version)} is not known; 3.0 or 3.1 is needed.`);
  return root;
}
