import type { PluginContext, ServerType } from "propylon";
import { locate } from "./document.ts";
import type { ApiOptions } from "./options.ts";
import { ApiServer } from "./server.ts";

/**
 * The server type `openapi`: an entry of `servers` that names an OpenAPI document becomes a server whose tools are its operations.
 *
 * @example gateway.serverType("openapi", apiServerType(gateway));
 */
export function apiServerType({
  files,
  log,
}: Pick<PluginContext, "files" | "log">): ServerType<ApiOptions> {
  return {
    create(name, options, catalogue) {
      const location = locate(options.spec, files.folder);
      return new ApiServer({ name, options, location, log, catalogue });
    },
  };
}
