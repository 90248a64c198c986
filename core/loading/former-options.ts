import { pathText, placeText, type ConfigPath, type PathIssue } from "../config/issue.ts";
import type { Places } from "../config/config.ts";
import { isPlainObject } from "../config/names.ts";

/** Options of before and where they stand now; `<name>` stands for names that a person gives, `[]` for items of a list. */
export type FormerOptions = Readonly<Record<string, string>>;

/** Options of which those of before have their present names. */
export interface Renamed {
  readonly value: Options;
  /** An option that stands there twice: as before and as now. */
  readonly issues: readonly PathIssue[];
  readonly warnings: readonly PathIssue[];
}

type Options = Readonly<Record<string, unknown>>;

/** An option of before in a config, and the path that it has now. */
interface Found {
  readonly from: ConfigPath;
  readonly to: ConfigPath;
}

/**
 * Gives the options of before their present names. What is said of an option from then on has the place where it was written.
 *
 * @param path where the options stand
 */
export function renameOptions(
  written: Options,
  former: FormerOptions,
  path: ConfigPath,
  places: Places,
): Renamed {
  let value = written;
  const issues: PathIssue[] = [];
  const warnings: PathIssue[] = [];
  for (const [before, now] of Object.entries(former)) {
    for (const { from, to } of find(value, keysOf(before), keysOf(now))) {
      const at: Found = { from: [...path, ...from], to: [...path, ...to] };
      if (isTaken(value, to)) {
        issues.push(twice(at, places));
        value = withoutIn(value, from) as Options;
        continue;
      }
      warnings.push(renamed(at, places));
      places.move(at.from, at.to);
      value = setIn(withoutIn(value, from), to, getIn(value, from)) as Options;
    }
    value = withoutEmpty(value, keysOf(before).slice(0, -1), keysOf(now));
  }
  return { value, issues, warnings };
}

function keysOf(option: string): readonly string[] {
  return option.replaceAll("[]", ".[]").split(".");
}

/** Where an option of before stands. The names and items on its way are on that of the present one, in their order. */
function find(
  value: unknown,
  from: readonly string[],
  to: readonly string[],
  way: ConfigPath = [],
): Found[] {
  const [key, ...rest] = from;
  if (key === undefined) return [{ from: way, to }];
  return stepsOf(value, key).flatMap(([step, inner]) =>
    find(inner, rest, to, [...way, step]).map((found) => ({
      ...found,
      to: isOpen(key) ? filled(found.to, key, step) : found.to,
    })),
  );
}

const isOpen = (key: string | number): boolean => key === "<name>" || key === "[]";

/** The innermost step is filled in first, so that it has the last of several places. */
function filled(path: ConfigPath, key: string, step: string | number): ConfigPath {
  const place = path.lastIndexOf(key);
  return place === -1 ? path : path.with(place, step);
}

/** What is behind a key: one part, or all of them for `<name>` and `[]`. */
function stepsOf(value: unknown, key: string): readonly (readonly [string | number, unknown])[] {
  if (key === "[]") return Array.isArray(value) ? [...value.entries()] : [];
  if (!isPlainObject(value)) return [];
  if (key === "<name>") return Object.entries(value);
  return Object.hasOwn(value, key) ? [[key, value[key]]] : [];
}

function getIn(value: unknown, path: ConfigPath): unknown {
  return path.reduce<unknown>((node, key) => (node as Options)[key], value);
}

/** Whether a path is taken: by its own value, or by one on its way that is no group. */
function isTaken(value: unknown, [key, ...rest]: ConfigPath): boolean {
  if (key === undefined || (typeof value !== "object" && value !== undefined)) return true;
  if (value === undefined || value === null || !Object.hasOwn(value, key)) return false;
  return isTaken((value as Options)[key], rest);
}

function setIn(value: unknown, [key, ...rest]: ConfigPath, set: unknown): unknown {
  if (key === undefined) return set;
  if (Array.isArray(value))
    return value.with(key as number, setIn(value[key as number], rest, set));
  const group = isPlainObject(value) ? value : {};
  return { ...group, [key]: setIn(group[key], rest, set) };
}

function withoutIn(value: unknown, [key, ...rest]: ConfigPath): unknown {
  const group = value as Options;
  if (rest.length > 0) return setIn(value, [key!], withoutIn(group[key!], rest));
  const { [key!]: _, ...others } = group;
  return others;
}

/** A group whose options are all elsewhere is no option any more, even if nobody wrote one. */
function withoutEmpty(value: Options, group: readonly string[], now: readonly string[]): Options {
  const isGone = group.some((key, depth) => key !== now[depth]);
  if (!isGone) return value;
  return find(value, group, []).reduce<Options>((rest, { from }) => {
    const found = getIn(rest, from);
    const isEmpty = isPlainObject(found) && Object.keys(found).length === 0;
    return isEmpty ? (withoutIn(rest, from) as Options) : rest;
  }, value);
}

function renamed({ from, to }: Found, places: Places): PathIssue {
  const [before, now] = [from, to].map((path) => pathText(places.written(path)));
  return {
    path: from,
    at: "key",
    message: `${before} is called ${now} now.`,
    hint: "Rename it: the old name goes with 0.3.",
  };
}

function twice({ from, to }: Found, places: Places): PathIssue {
  const [before, now] = [from, to].map((path) => pathText(places.written(path)));
  const { place } = places.place({ path: to, at: "key", message: "", hint: "" });
  const line = place.line === undefined ? "" : ` (${placeText(place)})`;
  return {
    path: from,
    at: "key",
    message: `${before} is the old name of ${now}, which is set too${line}.`,
    hint: `Keep ${now}, remove ${before}.`,
  };
}
