import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { GatewayError } from "propylon";
import { HttpClient, networkReason } from "propylon/kit";
import { lowerCaseNames } from "propylon/internal";
import { sendRequest, type ApiReply } from "./http.ts";
import { broken, parseUrl } from "./reading/references.ts";

/** How documents are read. */
export interface ReadOptions {
  /** Headers for the host of the document. */
  readonly headers: Readonly<Record<string, string>>;
  /** Largest document in bytes. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** Where a document is: a web URL as written, anything else is a file relative to the folder. */
export function locate(spec: string, folder: string): URL {
  return /^https?:\/\//i.test(spec) ? new URL(spec) : pathToFileURL(resolve(folder, spec));
}

/** The documents of one reading, each read once. */
export class Texts {
  /** SHA-256 (hex) of the bytes by URL, in the order of reading. */
  readonly hashes = new Map<string, string>();
  readonly #options: ReadOptions;
  readonly #read = new Map<string, Promise<Buffer>>();

  constructor(options: ReadOptions) {
    this.#options = options;
  }

  /**
   * The bytes at a place.
   *
   * @throws {GatewayError} `upstream_error` when its host cannot be read from now, `invalid` for a file that is not there
   */
  get(url: URL): Promise<Buffer> {
    const found = this.#read.get(url.href) ?? this.#fetch(url);
    this.#read.set(url.href, found);
    return found;
  }

  /** Whether all documents of an earlier reading still have the same bytes. */
  async areSame(before: ReadonlyMap<string, string>): Promise<boolean> {
    for (const [href, hash] of before) {
      await this.get(new URL(href));
      if (this.hashes.get(href) !== hash) return false;
    }
    return true;
  }

  async #fetch(url: URL): Promise<Buffer> {
    const { limit } = this.#options;
    const bytes = await (url.protocol === "file:"
      ? readLocal(url, limit)
      : readRemote(url, this.#options));
    this.hashes.set(url.href, createHash("sha256").update(bytes).digest("hex"));
    return bytes;
  }
}

async function readLocal(url: URL, limit: number): Promise<Buffer> {
  const file = fileURLToPath(url);
  try {
    if ((await stat(file)).size > limit) throw tooLong(limit);
    return await readFile(file);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw broken(
      `The file ${basename(file)} ${code === "ENOENT" ? "does not exist" : `cannot be read (${code})`}.`,
      "The path is relative to the config file; check its spelling and permissions.",
    );
  }
}

async function readRemote(location: URL, { headers, limit, signal }: ReadOptions): Promise<Buffer> {
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
    return bodyOf(await sendRequest(http, request, signal), location);
  } finally {
    await http.destroy();
  }
}

function bodyOf({ status, location: target, url, body }: ApiReply, location: URL): Buffer {
  if (target !== undefined) {
    const isNear = parseUrl(target, url)?.origin === location.origin;
    const why = isNear ? "without end" : "to another host";
    throw broken(`The document's URL redirects ${why}.`, "Put the final URL into spec.");
  }
  if (status >= 200 && status < 300) return body;
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
