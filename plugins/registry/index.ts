import { getQuery } from "h3";
import { definePlugin, type RouteEvent } from "propylon";
import { createEtag, isUnmodified, Listeners, pathParameter } from "propylon/kit";
import { Agents } from "propylon/plugins/agents";
import { RegistryCatalogue } from "./catalogue.ts";
import { optionsSchema } from "./options.ts";
import { warnOfRefusals } from "./warnings.ts";

/** Name of the listener, when the registry has one of its own. */
const LISTENER = "registry";

/** Lists the agents for clients, as a list and as an official registry would. */
export default definePlugin({
  name: "registry",
  config: optionsSchema,
  inject: { agents: Agents },
  setup(gateway) {
    const { config, services } = gateway;
    const catalogue = new RegistryCatalogue(() => services.agents.list(), config);
    if (config.listener) gateway.add(Listeners, { ...config.listener, name: LISTENER });
    const get = (path: string, body: (event: RouteEvent) => object): void =>
      gateway.route(
        "GET",
        path,
        {
          access: config.requireAuth ? "viewer" : "public",
          mutates: false,
          ...(config.listener && { listener: LISTENER }),
        },
        (event) => respond(event, JSON.stringify(body(event))),
      );
    get("/.well-known/mcp/server.json", () => catalogue.list());
    get("/v0.1/servers", (event) => catalogue.page(getQuery(event)));
    get("/v0.1/servers/:name/versions", (event) =>
      catalogue.versions(pathParameter(event, "name")),
    );
    get("/v0.1/servers/:name/versions/:version", (event) =>
      catalogue.version(pathParameter(event, "name"), pathParameter(event, "version")),
    );
    if (!config.strictSchema) warnOfRefusals(gateway, services.agents.list());
  },
});

/** With an ETag, since consoles ask again and again for what seldom changes. */
function respond(event: RouteEvent, body: string): Response {
  const etag = createEtag(body);
  const headers = { etag, "cache-control": "no-cache" };
  if (isUnmodified(event, etag)) return new Response(null, { status: 304, headers });
  return new Response(body, { headers: { ...headers, "content-type": "application/json" } });
}
