import { z } from "zod";
import { limitsSchema, timeoutsSchema } from "./bounds.ts";
import { pathText, type ConfigPath, type PathIssue } from "./issue.ts";
import { isPlainObject } from "../kit/json.ts";
import type { GatewayConfig, GatewayConfigInput } from "./schema.ts";
import { entryCommon } from "./server-schema.ts";
import type { Shape } from "./shape.ts";
import { unitOf, writeValue } from "../kit/units.ts";

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

/** The same of one of its servers; the options of its type are as somebody would write them already. */
export function writeServer(server: Group): Group {
  return writeGroup(server, entryCommon);
}

function writeGroup(group: Group, shape: z.core.$ZodShape): Group {
  const entries = Object.entries(group).map(([key, value]) => {
    const schema = Object.hasOwn(shape, key) ? shape[key] : undefined;
    return [key, schema === undefined ? value : writeValue(schema, value)];
  });
  return Object.fromEntries(entries) as Group;
}

const COMMON: ReadonlySet<string> = new Set(["type", ...Object.keys(entryCommon)]);

/** What an entry has that every entry may have, its type included. */
export function commonOptions(entry: Group): Record<string, unknown> {
  return Object.fromEntries(Object.entries(entry).filter(([key]) => COMMON.has(key)));
}

/** What it has besides. */
export function ownOptions(entry: Group): Record<string, unknown> {
  return Object.fromEntries(Object.entries(entry).filter(([key]) => !COMMON.has(key)));
}

const shapes = new WeakMap<z.ZodType, Shape>();

/** What may be written for a schema. Defaults are as somebody would write them; what takes a unit says so. */
export function inputShape(schema: z.ZodType): Shape {
  const known = shapes.get(schema) ?? makeShape(schema);
  shapes.set(schema, known);
  return known;
}

function makeShape(schema: z.ZodType): Shape {
  return z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      // Of what is read as something else, such as a duration, zod leaves the default out.
      if (def.type === "default") jsonSchema.default = writeValue(zodSchema, def.defaultValue);
      const unit = unitOf(zodSchema);
      if (unit !== undefined) jsonSchema.format = unit;
    },
  }) as Shape;
}

/** What somebody wrote, with the defaults of what they left out. A group that may have several forms has the defaults of none. */
export function withDefaults(shape: Shape, written: unknown): unknown {
  const value = written === undefined ? shape.default : written;
  const groups = [shape, ...(shape.anyOf ?? [])].flatMap(({ properties }) => properties ?? []);
  if (!isPlainObject(value) || groups.length !== 1) return value;
  const options = Object.entries(groups[0]!)
    .map(([key, each]) => {
      const own = Object.hasOwn(value, key) ? value[key] : undefined;
      return [key, withDefaults(each, own)] as const;
    })
    .filter(([, option]) => option !== undefined);
  return { ...value, ...Object.fromEntries(options) };
}
