import { z } from "zod";

const DURATION_MS = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  y: 31_557_600_000,
} as const;
const SIZE_BYTES = {
  B: 1,
  KB: 1_000,
  MB: 1_000_000,
  GB: 1_000_000_000,
  KiB: 1_024,
  MiB: 1_048_576,
  GiB: 1_073_741_824,
} as const;

/**
 * Milliseconds of a duration such as `30s`, `1500ms`, `10m`, `2h`, `1d`, `10y`, or of a bare number in the given unit.
 * `undefined` when it is not a duration, is negative or not finite.
 *
 * @example parseDuration("1m", "ms"); // 60_000
 */
export function parseDuration(value: number | string, bare: "s" | "ms"): number | undefined {
  const ms = parseUnit(value, DURATION_MS, bare);
  // Of a microsecond the clock knows nothing, and 2.01 s are 2,009.9999999999998 ms.
  return ms === undefined ? undefined : Math.round(ms * 1_000) / 1_000;
}

/** Bytes of a size such as `64KiB`, `5MB`, or of a bare number. `undefined` when it is not a size. */
export function parseSize(value: number | string): number | undefined {
  const bytes = parseUnit(value, SIZE_BYTES, "B");
  return bytes === undefined ? undefined : Math.round(bytes);
}

function parseUnit<U extends string>(
  value: number | string,
  units: Readonly<Record<U, number>>,
  bare: U,
): number | undefined {
  // Trimmed first: two runs of spaces side by side cost a caller's 16 KB of them a second (X-Tool-Timeout).
  const match = /^(\d+(?:\.\d+)?)\s*([A-Za-z]*)$/.exec(String(value).trim());
  if (!match) return undefined;
  const unit = (match[2] || bare) as U;
  const amount = Object.hasOwn(units, unit) ? Number(match[1]) * units[unit] : Number.NaN;
  return Number.isFinite(amount) ? amount : undefined;
}

/**
 * Schema of a duration in YAML: `30s`, `1500ms`, `10m`, `2h`, `1d`, or a bare number. Becomes milliseconds.
 *
 * @example z.strictObject({ window: durationSchema().default(60_000).describe("A bare number is seconds.") })
 */
export function durationSchema(): z.ZodType<number, number | string> {
  const read = (value: number | string): number | undefined => parseDuration(value, "s");
  return unitSchema(read, DURATION_MS, "a duration such as 30s, 1500ms or 10m");
}

/**
 * Schema of a size in YAML: bytes as a bare number, or `64KiB`, `16MiB`, `5MB`. Becomes whole bytes.
 *
 * @example const config = z.strictObject({ maxResult: sizeSchema().default(1_048_576).describe("Largest result.") });
 */
export function sizeSchema(): z.ZodType<number, number | string> {
  return unitSchema(parseSize, SIZE_BYTES, "a size such as 64KiB or 16MiB");
}

type UnitSchema = z.ZodType<number, number | string>;
type Units = Readonly<Record<string, number>>;

/** The units of durations and sizes, by the part of their schema that every copy of it keeps. */
const UNITS = new WeakMap<object, Units>();

function unitSchema(
  read: (value: number | string) => number | undefined,
  units: Units,
  wanted: string,
): UnitSchema {
  const schema = z.union([z.number(), z.string()]).transform((value, ctx) => {
    const amount = read(value);
    if (amount === undefined)
      ctx.addIssue({
        code: "custom",
        message: `expected ${wanted}, got ${JSON.stringify(value)}`,
      });
    return amount ?? 0;
  });
  UNITS.set(schema.def.out, units);
  return schema;
}

/** A value of a schema as somebody would write it: a duration or size with its unit, anything else as it is. */
export function writeValue(schema: z.core.$ZodType, value: unknown): unknown {
  const units = UNITS.get(partOf(schema));
  return units && typeof value === "number" ? writeUnit(value, units) : value;
}

/** What a number of a schema is, where it takes one with a unit. */
export function unitOf(schema: z.core.$ZodType): "duration" | "size" | undefined {
  const units = UNITS.get(partOf(schema));
  if (units === undefined) return undefined;
  return units === DURATION_MS ? "duration" : "size";
}

/** Whether a schema is one of {@link durationSchema}, optional or not, with a default or without. */
export function isDuration(schema: z.core.$ZodType): boolean {
  return unitOf(schema) === "duration";
}

function partOf(schema: z.core.$ZodType): object {
  const { def } = schema._zod as z.core.$ZodTypeInternals & {
    def: { innerType?: z.core.$ZodType; out?: object };
  };
  return def.innerType ? partOf(def.innerType) : (def.out ?? schema);
}

/** In the largest unit that leaves no fraction, the round ones first: `64KiB` before `65.536KB`. */
function writeUnit(value: number, units: Units): string {
  const fitting = Object.entries(units).filter(([, each]) => value >= each && value % each === 0);
  const largest = fitting.toSorted(([, left], [, right]) => right - left)[0];
  if (largest) return `${value / largest[1]}${largest[0]}`;
  // A bare number is seconds.
  return value === 0 ? "0" : `${value}${Object.keys(units)[0]}`;
}
