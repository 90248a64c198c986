import type { z } from "zod";
import { limitsSchema, timeoutsSchema } from "./bounds.ts";
import { isPlainObject } from "./names.ts";
import { backoffSchema, entryCommon, serverCommon } from "./server-schema.ts";
import { isDuration } from "../kit/units.ts";

/**
 * Stands beside the durations of a config that was read: bare numbers there are milliseconds, where people mean seconds. It is an
 * ordinary key, because `{ ...config }`, `structuredClone` and JSON keep those and nothing else.
 */
const MARK = "$unit";
const MILLISECONDS = "ms";

type Group = Readonly<Record<string, unknown>>;
type Change = (group: Group, shape: z.ZodRawShape) => Group;

/** Marks every group of a config that has durations, so that {@link readTimes} knows it and each copy of it. */
export function markTimes<T>(config: T): T {
  return changeGroups(config, (group) => ({ ...group, [MARK]: MILLISECONDS })) as T;
}

/** A config as people write it, also of one that was read, or of a copy: without marks, durations beside one with their unit. */
export function readTimes(config: unknown): unknown {
  return changeGroups(config, (group, shape) => {
    const { [MARK]: unit, ...rest } = group;
    if (unit !== MILLISECONDS) return group;
    const entries = Object.entries(rest).map(([key, value]) => [key, withUnit(shape[key], value)]);
    return Object.fromEntries(entries) as Group;
  });
}

/** An entry of a server without its mark, for the plugin that checks the rest of it. */
export function withoutMark(entry: Group): Group {
  const { [MARK]: _, ...rest } = entry;
  return rest;
}

function withUnit(schema: z.core.$ZodType | undefined, value: unknown): unknown {
  const isTime = typeof value === "number" && schema !== undefined && isDuration(schema);
  return isTime ? `${value}${MILLISECONDS}` : value;
}

function changeGroups(config: unknown, change: Change): unknown {
  if (!isPlainObject(config)) return config;
  return {
    ...config,
    ...changeKey(config, "limits", (limits) => change(limits, limitsSchema.shape)),
    ...changeKey(config, "timeouts", (timeouts) => change(timeouts, timeoutsSchema.shape)),
    ...changeKey(config, "servers", (servers) => changeServers(servers, change)),
  };
}

function changeServers(servers: Group, change: Change): Group {
  const entries = Object.entries(servers).map(([name, server]) => [
    name,
    isPlainObject(server) ? changeServer(server, change) : server,
  ]);
  return Object.fromEntries(entries) as Group;
}

/** Of an entry that belongs to a plugin only what every entry has was read. */
function changeServer(server: Group, change: Change): Group {
  if ("type" in server) return change(server, entryCommon);
  const waits = (backoff: Group): Group => change(backoff, backoffSchema.shape);
  return change({ ...server, ...changeKey(server, "backoff", waits) }, serverCommon);
}

function changeKey(owner: Group, key: string, change: (group: Group) => Group): Group {
  const group = Object.hasOwn(owner, key) ? owner[key] : undefined;
  return isPlainObject(group) ? { [key]: change(group) } : {};
}
