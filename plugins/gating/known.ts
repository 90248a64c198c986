import { GatewayError } from "propylon";
import type { GatingContext } from "./context.ts";
import type { FlagMap } from "./flags/flags.ts";
import type { Flag } from "./service.ts";

type Known = Pick<GatingContext, "info" | "services">;

/** Whether a server is part of the gateway; one that the config leaves out for now is. */
export function isKnownServer({ info, services }: Known, name: string): boolean {
  return info.servers.has(name) || services.management.serverConfig(name) !== undefined;
}

/** @throws {GatewayError} `not_found` for a flag of nothing */
export function checkFlags(gateway: Known, current: FlagMap, flags: readonly Flag[]): void {
  for (const { server, tool } of flags) {
    if (!isKnownServer(gateway, server))
      throw new GatewayError("not_found", `There is no server "${server}".`, {
        data: { server },
        hint: `Servers: ${[...gateway.info.servers.keys()].join(", ") || "none"}.`,
      });
    if (tool === undefined || current.get(server)?.tools.has(tool)) continue;
    const tools = gateway.info.servers.get(server)?.catalogue.tools ?? [];
    if (!tools.some(({ name }) => name === tool))
      throw new GatewayError("not_found", `Server "${server}" has no tool "${tool}".`, {
        data: { server, tool },
        hint: "Names are those of the server itself, without a prefix; a server that never answered has no known tools.",
      });
  }
}
