import { GatewayError, type PluginContext, type RouteEvent } from "propylon";
import { describedResource, METADATA, type Resources } from "./resources.ts";

/** What all metadata have in common. */
export interface MetadataParts {
  readonly resources: () => Resources;
  readonly issuers: () => readonly string[];
  readonly scopes: readonly string[];
}

/** Serves the metadata of what people log in to (RFC 9728 section 3), for everyone: clients have no token yet. */
export function registerRoutes(
  gateway: Pick<PluginContext, "route">,
  { resources, issuers, scopes }: MetadataParts,
): void {
  const answer = ({ url }: RouteEvent): object => {
    const rest = url.pathname.slice(METADATA.length).replace(/\/$/, "");
    const resource = describedResource(resources(), rest);
    if (!resource) throw new GatewayError("not_found", "Nobody logs in here.");
    return {
      resource: resource.url,
      authorization_servers: issuers(),
      ...(scopes.length > 0 && { scopes_supported: scopes }),
      bearer_methods_supported: ["header"],
    };
  };
  const policy = { access: "public", mutates: false } as const;
  gateway.route("GET", METADATA, policy, answer);
  gateway.route("GET", `${METADATA}/**`, policy, answer);
}
