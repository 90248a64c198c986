import { GatewayError } from "propylon";
import { isObject } from "propylon/kit";

type Value = Record<string, unknown>;

/**
 * mcpo's `client_header_forwarding` as the option of the plugin openapi: of the servers of a file, or by the flag of the one
 * behind `--`.
 *
 * @throws {GatewayError} `invalid` for settings of another form
 */
export function forwardingOf(value: Value, byFlag: string | undefined): Value {
  const common = byFlag === undefined ? undefined : parse(byFlag);
  const servers = { ...asMap(value["servers"]), ...asMap(value["mcpServers"]) };
  const wanted = Object.entries(servers).flatMap(([name, entry]) => {
    const settings = read(asMap(entry)["client_header_forwarding"] ?? common, name);
    return settings ? [[name, settings] as const] : [];
  });
  return Object.fromEntries(wanted);
}

function read(settings: unknown, server: string): Value | undefined {
  if (settings === undefined) return undefined;
  const { enabled = false, whitelist = [], blacklist = [] } = asMap(settings);
  if (typeof enabled !== "boolean" || !isNames(whitelist) || !isNames(blacklist))
    throw wrong(`client_header_forwarding of "${server}" is not understood.`);
  if (!enabled) return undefined;
  // No list means all to mcpo.
  return { allow: whitelist.length > 0 ? whitelist : ["*"], deny: blacklist };
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

function parse(text: string): unknown {
  try {
    const settings: unknown = JSON.parse(text);
    if (isObject(settings)) return settings;
  } catch {
    // Told below.
  }
  throw wrong("--client-header-forwarding wants a JSON object.");
}

function asMap(value: unknown): Value {
  return isObject(value) ? value : {};
}

function wrong(message: string): GatewayError {
  return new GatewayError("invalid", message, {
    hint: `Write {"enabled": true, "whitelist": ["X-User-*"], "blacklist": []}.`,
  });
}
