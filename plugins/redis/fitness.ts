import { GatewayError } from "propylon";

/** Oldest server that has users, and writes of scripts that know the time. */
const OLDEST_SERVER = 6;

/**
 * Whether a server can hold a store.
 *
 * @param info what `INFO` says
 * @throws {GatewayError} `invalid` saying why not
 */
export function checkFitness(info: string): void {
  const said = (name: string): string =>
    new RegExp(`^${name}:([^\\r\\n]*)`, "m").exec(info)?.[1] ?? "";
  if (Number.parseInt(said("redis_version"), 10) < OLDEST_SERVER)
    throw wrong(`The store's Redis is older than ${OLDEST_SERVER}.`, "Update the server.");
  if (said("cluster_enabled") === "1")
    throw wrong(
      "The store's Redis is a node of a cluster, which is not supported.",
      "Name a server of its own; everything of a store has to be on one.",
    );
  if (said("role") === "slave")
    throw wrong("The store's Redis is a read-only replica.", "Name the primary.");
  const policy = said("maxmemory_policy");
  if (said("maxmemory") !== "0" && policy !== "noeviction")
    throw wrong(
      `The store's Redis drops values when its memory is full (maxmemory-policy ${policy}).`,
      "Set maxmemory-policy to noeviction: what the gateway confirmed has to stay.",
    );
}

function wrong(message: string, hint: string): GatewayError {
  return new GatewayError("invalid", message, { hint });
}
