import { definePlugin, type ServerType } from "propylon";
import { httpServerSchema, perGeneration, stdioServerSchema } from "propylon/kit";
import { identifier } from "./audience.ts";
import { createAssertions } from "./create-assertions.ts";
import type { UpstreamConfig } from "./dial.ts";
import { issuerOf } from "./identity.ts";
import { LoginSources, serviceOf } from "./logins.ts";
import { McpServers } from "./service.ts";
import { Upstream } from "./upstream.ts";

export * from "./service.ts";

/** MCP servers behind the gateway: the entries of `servers` with a `command` or a `url`. There by default. */
export default definePlugin({
  name: "servers",
  serverTypes: { stdio: stdioServerSchema, http: httpServerSchema },
  provides: McpServers,
  setup(gateway) {
    const { log, files, control } = gateway;
    const { name, version, limits } = control.settings;
    const assertions = createAssertions(gateway);
    const logins = new LoginSources();
    const issuer = perGeneration(gateway, () => issuerOf(control));
    const made = {
      log,
      cwd: files.folder,
      clientInfo: { name, version: version ?? control.version },
      maxDepth: limits.depth,
    };
    const create: ServerType<UpstreamConfig>["create"] = (server, config, catalogue) => {
      const identify = identifier(assertions, issuer, server, config);
      const upstream = new Upstream({
        name: server,
        config,
        ...made,
        accountOf: (principal) => logins.accountOf(server, config, principal),
        ...(identify && { identify }),
        ...(catalogue && { catalogue }),
      });
      logins.add(upstream, config);
      return upstream;
    };
    gateway.serverType("stdio", { create });
    gateway.serverType("http", { create });
    return serviceOf(
      assertions,
      logins,
      (server, config) => new Upstream({ name: server, config, ...made }),
    );
  },
});
