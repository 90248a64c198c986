import { definePlugin } from "propylon";
import { Endpoints } from "./endpoints.ts";

/** MCP endpoints for clients of both protocol eras. There by default. */
export default definePlugin({
  name: "mcp",
  serveEndpoints: (host) => new Endpoints(host),
  setup() {},
});
