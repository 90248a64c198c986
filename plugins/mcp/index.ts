import { definePlugin } from "propylon";
import { EndpointHost, EndpointServers } from "propylon/internal";
import { Endpoints } from "./endpoints.ts";

/** MCP endpoints for clients of both protocol eras. On by default. */
export default definePlugin({
  name: "mcp",
  inject: { host: EndpointHost },
  setup(gateway) {
    gateway.add(EndpointServers, new Endpoints(gateway.services.host));
  },
});
