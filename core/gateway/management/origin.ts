import type { ConfigValue } from "../../plugin/management-service.ts";
import { isObject } from "../../kit/json.ts";
import type { ConfigPath } from "../../config/issue.ts";
import type { Places } from "../../config/config.ts";
import { valueAt } from "../../config/value-at.ts";

/** Most values that are told: a config is written by people. */
const MAX_VALUES = 20_000;

/** What the values are read off. */
export interface OriginInput {
  /** The config in force, masked. */
  readonly masked: unknown;
  /** The config as given, without what plugins added. */
  readonly written: unknown;
  readonly places: Places;
}

/** Every value of a config with its origin, in the order of the config. */
export function originsOf({ masked, written, places }: OriginInput): readonly ConfigValue[] {
  const found: ConfigValue[] = [];
  const walk = (value: unknown, path: ConfigPath, given: unknown): void => {
    const members = Array.isArray(value)
      ? value.map((item, index) => [index, item] as const)
      : isObject(value)
        ? Object.entries(value)
        : [];
    if (members.length === 0 && found.length < MAX_VALUES && path.length > 0)
      found.push(toValue(value, path, given));
    for (const [key, member] of members) walk(member, [...path, key], valueAt(given, [key]));
  };
  const toValue = (value: unknown, path: ConfigPath, given: unknown): ConfigValue => {
    const place = places.find(path) ?? null;
    const from = place ? "file" : given === undefined ? "plugin" : "default";
    return { path, value: value ?? null, from, place };
  };
  walk(masked, [], written);
  return found;
}
