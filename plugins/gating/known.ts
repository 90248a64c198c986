import { GatewayError, type Control } from "propylon";
import type { FlagMap } from "./flags.ts";
import type { Flag } from "./service.ts";

type Known = Pick<Control, "servers" | "serverConfig">;

/** Whether a server is part of the gateway; one that the config leaves out for now is. */
export function isKnownServer({ servers, serverConfig }: Known, name: string): boolean {
  return servers.has(name) || serverConfig(name) !== undefined;
}

/** @throws {GatewayError} `not_found` for a flag of nothing */
export function checkFlags(control: Known, current: FlagMap, flags: readonly Flag[]): void {
  for (const { server, tool } of flags) {
    if (!isKnownServer(control, server))
      throw new GatewayError("not_found", `There is no server "${server}".`, {
        data: { server },
        hint: `Servers: ${[...control.servers.keys()].join(", ") || "none"}.`,
      });
    if (tool === undefined || current.get(server)?.tools.has(tool)) continue;
    const tools = control.servers.get(server)?.catalogue.tools ?? [];
    if (!tools.some(({ name }) => name === tool))
      throw new GatewayError("not_found", `Server "${server}" has no tool "${tool}".`, {
        data: { server, tool },
        hint: "Names are those of the server itself, without a prefix; a server that never answered has no known tools.",
      });
  }
}
