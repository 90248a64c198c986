import { definePlugin, type ServerType } from "propylon";
import { httpServerSchema, stdioServerSchema } from "propylon/kit";
import type { UpstreamConfig } from "./dial.ts";
import { Upstream } from "./upstream.ts";

/** MCP servers behind the gateway: the entries of `servers` with a `command` or a `url`. There by default. */
export default definePlugin({
  name: "servers",
  serverTypes: { stdio: stdioServerSchema, http: httpServerSchema },
  setup(gateway) {
    const { log, files, control } = gateway;
    const { name, version, limits } = control.settings;
    const made = {
      log,
      cwd: files.folder,
      clientInfo: { name, version: version ?? control.version },
      maxDepth: limits.depth,
    };
    const create: ServerType<UpstreamConfig>["create"] = (server, config, catalogue) =>
      new Upstream({ name: server, config, ...made, ...(catalogue && { catalogue }) });
    gateway.serverType("stdio", { create });
    gateway.serverType("http", { create });
  },
});
