import type { PluginContext, ServerType } from "propylon";
import type { AgentOptions } from "./options.ts";
import { Owners } from "./owners.ts";
import { AgentServer } from "./server.ts";

/**
 * The server type `a2a`: an entry of `servers` that names an A2A agent or a runtime of contract v1 becomes a server whose tools are
 * the agent's skills.
 *
 * @example gateway.serverType("a2a", a2aServerType(gateway));
 */
export function a2aServerType({
  keep,
  log,
}: Pick<PluginContext, "keep" | "log">): ServerType<AgentOptions> {
  return {
    create(name, options, catalogue) {
      // A reload with other options must not take a caller's conversations away.
      const owners = keep(`owners:${name}`, () => new Owners());
      return new AgentServer({ name, options, log, catalogue, owners });
    },
  };
}
