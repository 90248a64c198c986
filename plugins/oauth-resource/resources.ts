import type { GatewayConfig, PluginContext } from "propylon";
import { isLoopback, perGeneration } from "propylon/kit";
import type { OauthResourceOptions } from "./options.ts";

/** Where the metadata of a protected resource are (RFC 9728 section 3). */
export const METADATA = "/.well-known/oauth-protected-resource";

/** Something that a token may be for. */
export interface Resource {
  /** Its URL, which tokens name as their audience (RFC 8707). */
  readonly url: string;
  /** URL of its metadata; `undefined` where they are not told. */
  readonly metadata: string | undefined;
}

/** What of the gateway people log in to: by the config, never by a Host header. */
export interface Resources {
  /** Endpoints that people log in to, by path. */
  readonly endpoints: ReadonlyMap<string, Resource>;
  /** Paths of endpoints that take keys only. */
  readonly closed: ReadonlySet<string>;
  /** Everything but the endpoints. */
  readonly root: Resource;
  /** Path of the gateway in its public URL; empty for none. */
  readonly base: string;
  /** What should not stay as it is, as sentences. */
  readonly problems: readonly string[];
}

type Context = Pick<PluginContext<OauthResourceOptions>, "config" | "info" | "hook">;
type Endpoints = ReturnType<PluginContext["info"]["describe"]>["endpoints"];

/** The resource that a path belongs to; `undefined` for an endpoint that takes keys only. */
export function resourceOf(
  { endpoints, closed, root }: Resources,
  path: string,
): Resource | undefined {
  return endpoints.get(path) ?? (closed.has(path) ? undefined : root);
}

/** The resource whose metadata are asked for, by what follows {@link METADATA} in the path, with or without the public path. */
export function describedResource(
  { endpoints, root, base }: Resources,
  rest: string,
): Resource | undefined {
  const own = rest.startsWith(base) ? rest.slice(base.length) : rest;
  const found = endpoints.get(rest || "/") ?? endpoints.get(own || "/");
  if (found) return found;
  return own === "" && root.metadata !== undefined ? root : undefined;
}

/** URLs of everything that has metadata. */
export function describedUrls(resources: Resources): readonly string[] {
  const { root } = resources;
  const urls = endpointUrls(resources);
  return root.metadata === undefined ? urls : [...urls, root.url];
}

/** URLs of the endpoints that people log in to. */
export function endpointUrls({ endpoints }: Resources): readonly string[] {
  return [...endpoints.values()].map(({ url }) => url);
}

/** Scheme and host, and the path as it is written. */
const WRITTEN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*([^?#]*)/i;

/**
 * A URL in the form in which two are compared: clients and issuers write one without a path with a slash, or without. What a reader
 * would turn into another path, e.g. dot segments, stays as it is written, and is not a URL of this gateway.
 */
export function normalUrl(text: string): string {
  const written = WRITTEN.exec(text)?.[1];
  if (written === undefined || !URL.canParse(text)) return text;
  const { href, pathname } = new URL(text);
  return pathname === (written || "/") ? href : text;
}

/** Finds what people log in to, for the config in force. */
export function findResources(context: Context): () => Resources {
  return perGeneration(context, () => readResources(context));
}

function readResources({ config, info }: Pick<Context, "config" | "info">): Resources {
  const { listeners, endpoints } = info.describe();
  const { publicUrl, listeners: configured } = info.effectiveConfig() as GatewayConfig;
  const first = listeners[0]!;
  const { origin, pathname } = new URL(publicUrl ?? first.url);
  const base = pathname.replace(/\/+$/, "");
  const url = `${origin}${base}`;
  const twice = pathsUsedTwice(endpoints);
  const isOpen = ({ name, url: own }: Endpoints[number]): boolean =>
    (config.endpoints === undefined || Object.hasOwn(config.endpoints, name)) &&
    !twice.has(pathOf(own));
  const open = endpoints.filter(isOpen).map((endpoint) => {
    const path = pathOf(endpoint.url);
    const below = path === "/" ? "" : path;
    const own = endpoint.listener === first.name ? `${url}${below}` : endpoint.url;
    const resource = config.endpoints?.[endpoint.name]?.resource ?? own;
    return [path, { url: resource, metadata: `${url}${METADATA}${below}` }] as const;
  });
  const closed = endpoints.filter((endpoint) => !isOpen(endpoint));
  return {
    endpoints: new Map(open),
    closed: new Set(closed.map((endpoint) => pathOf(endpoint.url))),
    // Clients that find no metadata of an endpoint look here, and then ignore the key that they were given.
    root: { url, metadata: closed.length === 0 ? `${url}${METADATA}` : undefined },
    base,
    problems: [
      ...unknownNames(config, endpoints),
      ...[...twice].map((path) => `${path} is the path of two endpoints: it takes keys only`),
      ...(publicUrl === undefined && !isLoopback(configured[first.name]?.host ?? "")
        ? ["publicUrl is not set: tokens must be for an address that only this machine has"]
        : []),
    ],
  };
}

function pathOf(url: string): string {
  return new URL(url).pathname;
}

/** What is asked of a token goes by the path of its request: of two endpoints with one path, on two listeners, neither counts. */
function pathsUsedTwice(endpoints: Endpoints): ReadonlySet<string> {
  const paths = endpoints.map(({ url }) => pathOf(url));
  return new Set(paths.filter((path, index) => paths.indexOf(path) !== index));
}

function unknownNames(
  { endpoints: named = {} }: OauthResourceOptions,
  endpoints: Endpoints,
): readonly string[] {
  const known = new Set(endpoints.map(({ name }) => name));
  const unknown = Object.keys(named).filter((name) => !known.has(name));
  return unknown.map((name) => `endpoints names "${name}", which is not an endpoint`);
}
