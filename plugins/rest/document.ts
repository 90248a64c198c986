import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { GatewayError, type Json } from "propylon";
import { HttpClient, isObject, isWithinDepth, lowerCaseNames, networkReason } from "propylon/kit";
import { Lexer, parse, Parser } from "yaml";
import { sendRequest, type ApiReply } from "./http.ts";
import {
  absolute,
  broken,
  MAX_DOCUMENT_DEPTH,
  parseUrl,
  References,
  tooDeep,
} from "./references.ts";

/** Documents that one may refer to; more are a mistake or an attack. */
const MAX_DOCUMENTS = 20;

/** How documents are read. */
export interface ReadOptions {
  /** Headers for the host of the document. */
  readonly headers: Readonly<Record<string, string>>;
  /** Largest document in bytes. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** An OpenAPI document with everything it refers to. */
export interface ApiDocument {
  readonly root: Json;
  readonly references: References;
  /** SHA-256 (hex) of the bytes of all parts; equal = nothing changed. */
  readonly hash: string;
}

/** Where a document is: a web URL as written, anything else is a file relative to the folder. */
export function locate(spec: string, folder: string): URL {
  return /^https?:\/\//i.test(spec) ? new URL(spec) : pathToFileURL(resolve(folder, spec));
}

/**
 * Reads a document and what it refers to, on the same host or in the same folder.
 *
 * @throws {GatewayError} `upstream_error` when the host cannot be read from now, `invalid` for what is no OpenAPI 3 document
 */
export async function readDocument(location: URL, options: ReadOptions): Promise<ApiDocument> {
  const documents = new Map<string, unknown>();
  const hash = createHash("sha256");
  const waiting = [new URL(location)];
  waiting[0]!.hash = "";
  for (let url = waiting.shift(); url; url = waiting.shift()) {
    if (documents.has(url.href)) continue;
    if (documents.size === MAX_DOCUMENTS)
      throw broken(`The document refers to more than ${MAX_DOCUMENTS} others.`);
    const text = await readText(url, options);
    hash.update(text);
    documents.set(
      url.href,
      absolute(parseText(text, url), url, (other) => {
        checkNear(other, location);
        waiting.push(other);
      }),
    );
  }
  const root = checkVersion(documents.values().next().value);
  return { root, references: new References(documents), hash: hash.digest("hex") };
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

function parseText(text: string, url: URL): unknown {
  const isJson = text.trimStart().startsWith("{");
  if (!(isJson ? isWithinDepth(Buffer.from(text), MAX_DOCUMENT_DEPTH) : isShallowYaml(text)))
    throw tooDeep();
  try {
    return isJson ? JSON.parse(text) : parse(text, { maxAliasCount: 100 });
  } catch (error) {
    const where = error instanceof Error ? /line (\d+)/.exec(error.message)?.[1] : undefined;
    throw broken(
      `${basename(url.pathname)} is neither JSON nor YAML${where ? `: see line ${where}` : ""}.`,
    );
  }
}

/**
 * Whether a YAML text nests no deeper than a document may. Brackets do not tell, and `parse` recurses: where the stack is nearly
 * used up it has ended the process, because V8 could not compile a regular expression. The parser of its tokens does not.
 */
function isShallowYaml(text: string): boolean {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    const documents = parser.next(lexeme);
    while (documents.next().done !== true);
    // The document and the scalar are on the stack too.
    if (parser.stack.length > MAX_DOCUMENT_DEPTH + 2) return false;
  }
  return true;
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

async function readText(url: URL, options: ReadOptions): Promise<string> {
  return url.protocol === "file:" ? readLocal(url, options.limit) : readRemote(url, options);
}

async function readLocal(url: URL, limit: number): Promise<string> {
  const file = fileURLToPath(url);
  try {
    if ((await stat(file)).size > limit) throw tooLong(limit);
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw broken(
      `The file ${basename(file)} ${code === "ENOENT" ? "does not exist" : `cannot be read (${code})`}.`,
      "The path is relative to the config file; check its spelling and permissions.",
    );
  }
}

async function readRemote(location: URL, { headers, limit, signal }: ReadOptions): Promise<string> {
  const http = new HttpClient({
    maxResult: limit,
    network: (error) => unreachable(networkReason(error), error),
    tooLarge: tooLong,
  });
  const { origin, pathname, search } = location;
  const request = {
    origin,
    method: "GET",
    path: `${pathname}${search}`,
    headers: { accept: "*/*", "user-agent": "propylon", ...lowerCaseNames(headers) },
  };
  try {
    return textOf(await sendRequest(http, request, signal), location);
  } finally {
    await http.destroy();
  }
}

function textOf({ status, location: target, url, body }: ApiReply, location: URL): string {
  if (target !== undefined) {
    const isNear = parseUrl(target, url)?.origin === location.origin;
    const why = isNear ? "without end" : "to another host";
    throw broken(`The document's URL redirects ${why}.`, "Put the final URL into spec.");
  }
  if (status >= 200 && status < 300) return body.toString("utf8");
  throw unreachable(`its URL answered with HTTP ${status}`, undefined);
}

function unreachable(why: string, cause: unknown): GatewayError {
  return new GatewayError("upstream_error", `The OpenAPI document cannot be read: ${why}.`, {
    cause,
    hint: "Check spec; it is tried again.",
  });
}

function tooLong(limit: number): GatewayError {
  return broken(`The document is longer than ${limit} bytes.`, "Raise maxResult of this server.");
}
