import { isSameHost, type ProviderFetch } from "propylon/internal";
import { Mismatch, providerFault } from "./faults.ts";

/** Most redirects that are followed to a document. */
const MAX_REDIRECTS = 3;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** What is at one of the places where metadata may be. */
export interface MetadataFound {
  readonly url: string;
  readonly response: Response;
}

/**
 * The first metadata of several places. What refuses a place, wants a login there, leads to another host or answers with a page for
 * people has none there; a server that fails may have some, which is not the same.
 *
 * @param whose "its" or "the server's", for messages
 * @param tried filled with what came, for the log
 * @throws {GatewayError} `upstream_error`
 */
export async function findMetadata(
  urls: readonly string[],
  whose: string,
  fetch: ProviderFetch,
  tried: string[] = [],
): Promise<MetadataFound | undefined> {
  for (const url of urls) {
    const response = await follow(url, fetch);
    if (response.status >= 500)
      throw providerFault(
        `${whose} metadata answer with HTTP ${response.status}`,
        new Mismatch(`metadata at ${url}`, `HTTP ${response.status}`),
      );
    if (response.status === 200 && !isPage(response)) return { url, response };
    tried.push(`${response.status} at ${url}`);
  }
  return undefined;
}

/** Redirects lead no further than what named the document might have led: to the same host, over TLS at most. */
async function follow(url: string, fetch: ProviderFetch): Promise<Response> {
  let target = url;
  for (let hops = 0; ; hops++) {
    const response = await fetch(target, { headers: { accept: "application/json" } });
    const next = nextOf(response, target);
    if (next === undefined || hops === MAX_REDIRECTS) return response;
    target = next;
  }
}

function nextOf({ status, headers }: Response, url: string): string | undefined {
  const location = headers.get("location");
  if (location === null || !REDIRECTS.includes(status) || !URL.canParse(location, url))
    return undefined;
  const next = new URL(location, url);
  return isSameHost(next, new URL(url)) ? next.href : undefined;
}

/** Applications of one page answer every path with it. */
function isPage({ headers }: Response): boolean {
  return /^text\/html\b/i.test(headers.get("content-type") ?? "");
}

/** Lists of texts that are looked at. */
const LISTS: ReadonlySet<string> = new Set([
  "code_challenge_methods_supported",
  "id_token_signing_alg_values_supported",
  "scopes_supported",
  "token_endpoint_auth_methods_supported",
]);

/** Metadata without what is of another kind than it should be. Servers that write optional members as null mean none (Pydantic). */
export function readableMembers<T extends object>(metadata: T): T {
  const readable = Object.entries(metadata).filter(([name, value]) => isReadable(name, value));
  return Object.fromEntries(readable) as T;
}

function isReadable(name: string, value: unknown): boolean {
  if (LISTS.has(name))
    return Array.isArray(value) && value.every((each) => typeof each === "string");
  return name.endsWith("_endpoint") ? typeof value === "string" : value !== null;
}
