import { isObject } from "propylon/kit";
import type { ProviderFetch } from "propylon/internal";
import { readChallenge, splitScopes, unite, type LoginChallenge } from "./challenge.ts";
import { Mismatch, providerFault } from "./faults.ts";
import { findMetadata } from "./metadata.ts";
import { findProvider, type ProviderMetadata } from "./provider.ts";

/** Most authorization servers that are looked at. */
const MAX_SERVERS = 20;

/** Where to log in at a server, and for what. */
export interface LoginPlace {
  readonly provider: ProviderMetadata;
  /** The server as tokens name it (RFC 8707). */
  readonly resource: string;
  /** Scopes that the server knows; `undefined` where it does not say. */
  readonly scopes: readonly string[] | undefined;
}

/** Has a server refuse a request, to hear what it wants: somebody may log in before the first call. */
export async function askForChallenge(server: URL, fetch: ProviderFetch): Promise<LoginChallenge> {
  const response = await fetch(server.href, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  });
  return response.status === 401
    ? readChallenge(response.headers.get("www-authenticate") ?? "")
    : {};
}

interface ResourceMetadata {
  readonly resource: string;
  readonly issuers: readonly string[];
  readonly scopes: readonly string[] | undefined;
}

/**
 * Finds out where to log in: from the server's own metadata (RFC 9728) to those of its authorization server.
 *
 * @param server its URL
 * @param challenge what it said when it refused
 * @param issuer the only one to use, where the operator says so
 * @throws {GatewayError} `upstream_error`
 */
export async function findLogin(
  server: URL,
  challenge: LoginChallenge,
  issuer: string | undefined,
  fetch: ProviderFetch,
): Promise<LoginPlace> {
  const found = await findResource(server, challenge, fetch);
  // Servers of 2025-03-26 have no metadata of their own, and are their own authorization server.
  const { resource, issuers, scopes } = found ?? {
    resource: resourceOf(server),
    issuers: [issuer ?? server.origin],
    scopes: undefined,
  };
  if (issuer !== undefined && !issuers.some((each) => isSameUrl(each, issuer)))
    throw providerFault(
      "the server names another authorization server than its entry",
      new Mismatch(issuer, issuers.slice(0, 3).join(", ")),
    );
  const chosen = issuer ?? issuers[0]!;
  if (!/^https?:\/\//i.test(chosen) || !URL.canParse(chosen))
    throw providerFault(
      "the server names an issuer that is not a URL",
      new Mismatch("an http or https URL", chosen),
    );
  return { provider: await findProvider(new URL(chosen), server, fetch), resource, scopes };
}

async function findResource(
  server: URL,
  { metadata }: LoginChallenge,
  fetch: ProviderFetch,
): Promise<ResourceMetadata | undefined> {
  // Some name a path of their own.
  const told =
    metadata !== undefined && URL.canParse(metadata, server.href)
      ? [new URL(metadata, server).href]
      : [];
  const urls = [...new Set([...told, ...resourceUrls(server)])];
  const found = await findMetadata(urls, "the server's", fetch);
  return found && readResource(server, await found.response.json().catch(() => undefined));
}

function resourceUrls({ origin, pathname }: URL): readonly string[] {
  const root = `${origin}/.well-known/oauth-protected-resource`;
  const path = pathname.replace(/\/$/, "");
  return path === "" ? [root] : [`${root}${path}`, root];
}

function readResource(server: URL, body: unknown): ResourceMetadata {
  if (!isObject(body)) throw providerFault("the server's metadata are not a JSON object");
  const { resource, authorization_servers: listed, scopes_supported: scopes } = body;
  // Otherwise a server could have tokens made for another (RFC 9728 section 3.3).
  if (typeof resource !== "string" || !covers(resource, server))
    throw providerFault(
      "the server's metadata are those of another",
      new Mismatch(
        `resource ${server.href}, or a path above it`,
        typeof resource === "string" ? `resource ${resource}` : "none",
      ),
    );
  const issuers = Array.isArray(listed) ? textsOf(listed).slice(0, MAX_SERVERS) : [];
  if (issuers.length === 0)
    throw providerFault(
      "the server names no authorization server",
      new Mismatch("authorization_servers with a URL", listed === undefined ? "none" : "no URL"),
    );
  return {
    resource,
    issuers,
    scopes: Array.isArray(scopes) ? unite(textsOf(scopes).flatMap(splitScopes), []) : undefined,
  };
}

/** Whether a resource is the server or the path above it: some have one for all that they offer. */
function covers(resource: string, server: URL): boolean {
  if (!URL.canParse(resource)) return false;
  const { origin, pathname } = new URL(resource);
  const above = pathname.endsWith("/") ? pathname : `${pathname}/`;
  return origin === server.origin && `${server.pathname}/`.startsWith(above);
}

/** The canonical form (RFC 8707 section 2): without fragment, and without the slash of an empty path. */
function resourceOf({ origin, pathname, search }: URL): string {
  return `${origin}${pathname === "/" ? "" : pathname}${search}`;
}

function isSameUrl(one: string, other: string): boolean {
  return URL.canParse(one) && new URL(one).href === new URL(other).href;
}

function textsOf(values: readonly unknown[]): readonly string[] {
  return values.filter((value) => typeof value === "string");
}
