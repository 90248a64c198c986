import { getQuery } from "h3";
import type { PluginContext, RouteEvent } from "propylon";
import { createEtag, isUnmodified, pathParameter } from "propylon/kit";
import type { RegistryCatalogue } from "./catalogue.ts";
import type { RegistryOptions } from "./options.ts";

/** Name of the listener, when the registry has one of its own. */
export const LISTENER = "registry";

/** Registers the list of agents, as a list and as an official registry serves it. */
export function registerRoutes(
  gateway: Pick<PluginContext<RegistryOptions>, "config" | "route">,
  catalogue: RegistryCatalogue,
): void {
  const { requireAuth, listener } = gateway.config;
  const access = {
    access: requireAuth ? "viewer" : "public",
    mutates: false,
    ...(listener && { listener: LISTENER }),
  } as const;
  const get = (path: string, body: (event: RouteEvent) => object): void =>
    gateway.route("GET", path, access, (event) => respond(event, JSON.stringify(body(event))));
  get("/.well-known/mcp/server.json", () => catalogue.list());
  get("/v0.1/servers", (event) => catalogue.page(getQuery(event)));
  get("/v0.1/servers/:name/versions", (event) => catalogue.versions(pathParameter(event, "name")));
  get("/v0.1/servers/:name/versions/:version", (event) =>
    catalogue.version(pathParameter(event, "name"), pathParameter(event, "version")),
  );
}

/** With an ETag, since consoles ask again and again for what seldom changes. */
function respond(event: RouteEvent, body: string): Response {
  const etag = createEtag(body);
  const headers = { etag, "cache-control": "no-cache" };
  if (isUnmodified(event, etag)) return new Response(null, { status: 304, headers });
  return new Response(body, { headers: { ...headers, "content-type": "application/json" } });
}
