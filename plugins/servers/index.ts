import { definePlugin, type Principal } from "propylon";
import { type ServerType, Checks, Files, perGeneration, ServerTypes } from "propylon/kit";
import { Store } from "propylon/store";
import { httpServerSchema, stdioServerSchema } from "./entry.ts";
import { identifier } from "./upstream/audience.ts";
import { optionsSchema } from "./options.ts";
import { createAssertions } from "./connection/create-assertions.ts";
import { Endings } from "./upstream/endings.ts";
import type { UpstreamConfig } from "./connection/dial.ts";
import { issuerOf } from "./connection/identity.ts";
import { LoginSources, serviceOf } from "./upstream/logins.ts";
import { checkPlacement, hasWorkers, isPlaced, place, placementsOf } from "./replicas/place.ts";
import { McpServers } from "./service.ts";
import { commonOptions, Upstream } from "./upstream/upstream.ts";

export * from "./service.ts";

/** MCP servers behind the gateway: the entries of `servers` with a `command` or a `url`. On by default. */
export default definePlugin({
  name: "servers",
  config: optionsSchema,
  serverTypes: { stdio: stdioServerSchema, http: httpServerSchema },
  inject: { files: Files, store: Store },
  provides: McpServers,
  setup(gateway) {
    const { store } = gateway.services;
    const assertions = createAssertions(gateway, store);
    const logins = new LoginSources();
    const placements = store.shared ? placementsOf(gateway, store) : undefined;
    const issuer = perGeneration(gateway, () => issuerOf(gateway.info));
    const { httpClient } = gateway.config;
    const made = { ...commonOptions(gateway), httpClient, endings: new Endings(gateway) };
    const create: ServerType<UpstreamConfig>["create"] = (server, config, catalogue) => {
      const identify = identifier(assertions, issuer, server, config);
      const options = {
        name: server,
        config,
        ...made,
        accountOf: (principal: Principal | undefined) =>
          logins.accountOf(server, config, principal),
        ...(identify && { identify }),
        ...(catalogue && { catalogue }),
      };
      if (placements && isPlaced(config)) return place(options, placements, store);
      const upstream = new Upstream(options);
      logins.add(upstream, config);
      return upstream;
    };
    for (const type of ["stdio", "http"]) gateway.add(ServerTypes, { type, create });
    if (hasWorkers(gateway))
      gateway.add(Checks, { name: "placement", ask: () => checkPlacement(gateway) });
    return serviceOf(
      assertions,
      logins,
      (server, config) => new Upstream({ name: server, config, ...made }),
    );
  },
});
