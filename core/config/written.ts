import type { z } from "zod";
import { limitsSchema, timeoutsSchema } from "./bounds.ts";
import { pathText, type ConfigPath, type PathIssue } from "./issue.ts";
import { isPlainObject } from "./names.ts";
import type { GatewayConfig, GatewayConfigInput } from "./schema.ts";
import {
  backoffSchema,
  entryCommon,
  serverCommon,
  serverConnectionSchema,
} from "./server-schema.ts";
import { writeValue } from "../kit/units.ts";

type Group = Readonly<Record<string, unknown>>;

/** Groups of configs that were read. */
const read = new WeakSet<object>();

/** Notes which groups are those of a config that was read; see {@link readGroups}. */
export function noteRead({ limits, timeouts, servers }: GatewayConfig): void {
  for (const group of [limits, timeouts, ...Object.values(servers)]) read.add(group);
}

/** Where a value has groups of a config that was read, whose bare numbers would be taken for seconds. */
export function readGroups(value: unknown): readonly PathIssue[] {
  if (!isPlainObject(value)) return [];
  const { limits, timeouts, servers } = value;
  const entries = isPlainObject(servers) ? Object.entries(servers) : [];
  const groups: readonly (readonly [ConfigPath, unknown])[] = [
    [["limits"], limits],
    [["timeouts"], timeouts],
    ...entries.map(([name, entry]) => [["servers", name], entry] as const),
  ];
  return groups
    .filter(([, group]) => typeof group === "object" && group !== null && read.has(group))
    .map(([path]) => ({
      path,
      message: `${pathText(path)} is of a config that was read: its times are milliseconds.`,
      hint: "Take it from gateway.written, where they have their unit.",
    }));
}

/**
 * A config that was read, as people write one: durations and sizes with their unit, so that it means the same however it is copied
 * and wherever it is read again. A bare number is milliseconds in the one and seconds in the other.
 */
export function writeConfig(config: GatewayConfig): GatewayConfigInput {
  const { limits, timeouts, servers } = config;
  return {
    ...config,
    limits: writeGroup(limits, limitsSchema.shape),
    timeouts: writeGroup(timeouts, timeoutsSchema.shape),
    servers: Object.fromEntries(
      Object.entries(servers).map(([name, server]) => [name, writeServer(server)]),
    ),
  } as GatewayConfigInput;
}

/** The same of one of its servers. Of an entry that belongs to a plugin only what every entry has was read. */
export function writeServer(server: Group): Group {
  if ("type" in server) return writeGroup(server, entryCommon);
  const { backoff, connection } = server;
  return {
    ...writeGroup(server, serverCommon),
    ...(isPlainObject(backoff) && { backoff: writeGroup(backoff, backoffSchema.shape) }),
    ...(isPlainObject(connection) && {
      connection: writeGroup(connection, serverConnectionSchema.shape),
    }),
  };
}

function writeGroup(group: Group, shape: z.core.$ZodShape): Group {
  const entries = Object.entries(group).map(([key, value]) => {
    const schema = Object.hasOwn(shape, key) ? shape[key] : undefined;
    return [key, schema === undefined ? value : writeValue(schema, value)];
  });
  return Object.fromEntries(entries) as Group;
}
