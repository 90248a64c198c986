import { GatewayError, type PluginContext } from "propylon";
import type { AssertionKeysService } from "propylon/plugins/servers";

/** How long servers may keep the keys, in seconds. */
const MAX_AGE_S = 300;

/** Publishes what servers check with who calls them. */
export function publishKeys(
  gateway: Pick<PluginContext, "route">,
  keys: AssertionKeysService,
): void {
  keys.publish();
  gateway.route(
    "GET",
    "/.well-known/propylon/jwks.json",
    { access: "public", mutates: false },
    async () => {
      if (!keys.isUsed) throw new GatewayError("not_found", "Nothing here.");
      return Response.json(await keys.keySet(), {
        headers: { "cache-control": `public, max-age=${MAX_AGE_S}` },
      });
    },
  );
}
