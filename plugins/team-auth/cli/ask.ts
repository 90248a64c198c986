import type { Json } from "propylon";
import { askPlugin, askPluginLines, type ClientFlags, type PluginRequest } from "propylon/cli";

/** A request to the administration of a running gateway. */
export type AdminRequest = Omit<PluginRequest, "plugin">;

const plugin = "team-auth";

/** @throws {GatewayError} what the gateway answers; `upstream_error` when it cannot be reached */
export function ask(flags: ClientFlags, request: AdminRequest): Promise<Json> {
  return askPlugin(flags, { plugin, ...request });
}

/** An answer of lines, a piece at a time. @throws {GatewayError} as {@link ask} */
export function askLines(
  flags: ClientFlags,
  request: AdminRequest,
  write: (piece: Uint8Array) => unknown,
): Promise<void> {
  return askPluginLines(flags, { plugin, ...request }, write);
}
