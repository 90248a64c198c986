import type { Server } from "propylon";
import type { GatingContext } from "./context.ts";
import { isKnownServer } from "./known.ts";
import type { FlagStore } from "./flags/flag-store.ts";

/** Keeps the store up to date with the servers: what they have, how their connections go, and whether they are still there. */
export function followServers(gateway: GatingContext, store: FlagStore): void {
  const compare = (server: Server | undefined): void => {
    if (server && isListed(server)) store.compare(server.name, server.catalogue.tools);
  };
  const note = (name: string, { state, since, lastError, attempts }: Server["status"]): void => {
    if (state === "ready") store.note(name, { lastInit: since, lastError: null, attempts });
    else if (lastError !== undefined) store.note(name, { lastError, attempts });
  };
  const settle = (): void => {
    store.prune((server) => isKnownServer(gateway, server));
    for (const server of gateway.info.servers.values()) {
      compare(server);
      // What was connected before its generation served told nobody.
      note(server.name, server.status);
    }
  };
  gateway.hook("gateway:ready", settle);
  gateway.hook("reload:done", settle);
  gateway.hook("server:catalogue", (name) => compare(gateway.info.servers.get(name)));
  gateway.hook("server:state", (name, status) => {
    // A server that was taken out still reports its end.
    if (!isKnownServer(gateway, name)) return;
    compare(gateway.info.servers.get(name));
    note(name, status);
  });
}

/** Whether its lists are its own and complete; those of a server that is away may be old ones. */
function isListed({ status, catalogue }: Server): boolean {
  return status.state === "ready" && catalogue.hash !== "";
}
