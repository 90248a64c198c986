import type { PluginContext, RouteEvent } from "propylon";
import { clientName } from "propylon/cli";
import { checkInput } from "propylon/kit";
import { clientGuides, offersLogin } from "propylon/plugins/client";
import { z } from "zod";

/** Variable that the guides take the key from, so that none of them holds it: the one that `call` and `tools` read. */
const KEY = "PROPYLON_API_KEY";

const querySchema = z.strictObject({
  // Only who asks knows under which host an endpoint is reached.
  url: z.url({ protocol: /^https?$/ }).max(2_048),
  key: z.enum(["0", "1"]).default("0"),
});

/** Answer of `GET /_meta/clients`: how each client is set up. */
export type ClientsView = ReturnType<typeof describeClients>;

/** How clients are set up, as the command `client-config` says it. */
export function clientRoutes(gateway: PluginContext): void {
  const policy = { access: "viewer", mutates: false, management: true } as const;
  gateway.route("GET", "/_meta/clients", policy, (event) => describeClients(gateway, event));
}

function describeClients({ info }: PluginContext, { url: { searchParams } }: RouteEvent) {
  const { url, key } = checkInput(Object.fromEntries(searchParams), querySchema);
  const { name, plugins } = info.describe();
  return {
    ok: true,
    login: offersLogin(plugins.map((plugin) => plugin.name)),
    clients: clientGuides(clientName(name), url, key === "1" ? KEY : undefined),
  };
}
