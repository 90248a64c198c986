import { definePlugin } from "propylon";
import { ServerTypes } from "propylon/kit";
import { agentOptions, type RemoteAgentOptions } from "./options.ts";
import { IdOwners } from "./owners.ts";
import { RemoteAgent } from "./server.ts";

/**
 * Agents behind the gateway: an entry of `servers` with `type: a2a`, an A2A agent or a runtime of contract v1, is a server whose
 * tools are the agent's skills.
 */
export default definePlugin({
  name: "a2a-client",
  serverTypes: { a2a: agentOptions },
  setup(gateway) {
    const { log } = gateway;
    gateway.add(ServerTypes, {
      type: "a2a",
      create(name, options: RemoteAgentOptions, catalogue) {
        // A reload with other options must not cost a caller its conversations.
        const owners = gateway.keep(`owners:${name}`, () => new IdOwners());
        return new RemoteAgent({ name, options, log, catalogue, owners });
      },
    });
  },
});
