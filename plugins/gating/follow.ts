import type { Provider, PluginContext } from "propylon";
import { isKnownServer } from "./known.ts";
import type { Ledger } from "./ledger.ts";

/** Keeps the ledger up to date with the servers: what they have, how their connections go, and whether they are still there. */
export function followServers(gateway: PluginContext, ledger: Ledger): void {
  const compare = (provider: Provider | undefined): void => {
    if (provider && isListed(provider)) ledger.compare(provider.name, provider.catalogue.tools);
  };
  const note = (name: string, { state, since, lastError }: Provider["status"]): void => {
    if (state === "ready") ledger.note(name, { lastInit: since, lastError: null });
    else if (lastError !== undefined) ledger.note(name, { lastError });
  };
  const settle = (): void => {
    ledger.prune((server) => isKnownServer(gateway, server));
    for (const provider of gateway.servers.values()) {
      compare(provider);
      // What was connected before its generation served told nobody.
      note(provider.name, provider.status);
    }
  };
  gateway.hook("gateway:ready", settle);
  gateway.hook("reload:done", settle);
  gateway.hook("upstream:catalogue", (name) => compare(gateway.servers.get(name)));
  gateway.hook("upstream:state", (name, status) => {
    // A server that was taken out still reports its end.
    if (!isKnownServer(gateway, name)) return;
    compare(gateway.servers.get(name));
    note(name, status);
  });
}

/** Whether its lists are its own and complete; those of a server that is away may be old ones. */
function isListed({ status, catalogue }: Provider): boolean {
  return status.state === "ready" && catalogue.hash !== "";
}
