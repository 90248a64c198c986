import { definePlugin } from "propylon";
import { agentOptions, type AgentOptions } from "./options.ts";
import { Owners } from "./owners.ts";
import { AgentServer } from "./server.ts";

/**
 * Agents behind the gateway: an entry of `servers` with `type: a2a`, an A2A agent or a runtime of contract v1, is a server whose
 * tools are the agent's skills.
 */
export default definePlugin({
  name: "a2a-client",
  serverTypes: { a2a: agentOptions },
  setup(gateway) {
    const { log } = gateway;
    gateway.serverType("a2a", {
      create(name, options: AgentOptions, catalogue) {
        // A reload with other options must not take a caller's conversations away.
        const owners = gateway.keep(`owners:${name}`, () => new Owners());
        return new AgentServer({ name, options, log, catalogue, owners });
      },
    });
  },
});
