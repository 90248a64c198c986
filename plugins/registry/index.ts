import { createHash } from "node:crypto";
import { getQuery } from "h3";
import { definePlugin, GatewayError, type RouteEvent } from "propylon";
import { Agents } from "propylon/plugins/agents";
import { RegistryCatalogue } from "./catalogue.ts";
import { strictProblems } from "./entry.ts";
import { optionsSchema } from "./options.ts";

/** Name of the listener, when the registry has one of its own. */
const LISTENER = "registry";

/** Tells clients which agents there are, as a list and as an official registry would (P005, P013-P040). */
export default definePlugin({
  name: "registry",
  config: optionsSchema,
  inject: { agents: Agents },
  setup(gateway) {
    const { config, services } = gateway;
    const catalogue = new RegistryCatalogue(() => services.agents.list(), config.strictSchema);
    if (config.listener) gateway.listener(LISTENER, config.listener);
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
    get("/v0.1/servers/:name/versions", (event) => catalogue.versions(parameter(event, "name")));
    get("/v0.1/servers/:name/versions/:version", (event) =>
      catalogue.version(parameter(event, "name"), parameter(event, "version")),
    );
    if (config.strictSchema) return;
    for (const agent of services.agents.list()) {
      for (const problem of strictProblems(agent))
        gateway.warn({
          message: `Official registries would refuse the agent "${agent.name}": ${problem}.`,
          path: ["plugins", "agents", "agents", agent.name],
          hint: "Correct it, or set plugins.registry.strictSchema: true.",
        });
    }
  },
});

/** With an ETag, since consoles ask again and again for what seldom changes. */
function respond({ req }: RouteEvent, body: string): Response {
  const etag = `"${createHash("sha256").update(body).digest("hex").slice(0, 32)}"`;
  const headers = { etag, "cache-control": "no-cache" };
  const known = req.headers.get("if-none-match")?.split(",") ?? [];
  if (known.some((tag) => tag.trim().replace(/^W\//, "") === etag))
    return new Response(null, { status: 304, headers });
  return new Response(body, { headers: { ...headers, "content-type": "application/json" } });
}

/** Names have a slash, so they come percent-encoded. */
function parameter({ context }: RouteEvent, name: string): string {
  try {
    return decodeURIComponent(context.params?.[name] ?? "");
  } catch {
    throw new GatewayError(
      "bad_request",
      `The ${name} in the path is not percent-encoded properly.`,
    );
  }
}
