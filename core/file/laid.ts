import type { Part } from "../config/config.ts";
import type { ConfigPath } from "../config/issue.ts";
import { isPlainObject } from "../kit/json.ts";
import { valueAt, withValue } from "../config/value-at.ts";

/** A value with the places of its parts. */
export interface Laid {
  readonly value: unknown;
  readonly part: Part;
}

/** Spellings of one option of a server: the stronger layer decides, however it spells it. */
const SPELLINGS: readonly (readonly [ConfigPath, ConfigPath])[] = [
  [["enabled"], ["disabled"]],
  [["url"], ["serverUrl"]],
  [["tools", "exclude"], ["disabledTools"]],
  [["tools", "exclude"], ["disabled_tools"]],
];

/**
 * Lays one config over another. `servers` and `mcpServers` hold the same servers, so one that a client wrote in a layer can be
 * changed above it.
 */
export function layConfig(upper: Laid, lower: Laid): Laid {
  const names = [upper, lower].flatMap((each) => namesOf(memberOf(each, "mcpServers")));
  const [above, below] = [upper, lower].map((each) => names.reduce(asPasted, each)) as [Laid, Laid];
  const settled = ["servers", "mcpServers"].reduce((config, block) => {
    const servers = memberOf(config, block);
    if (!isPlainObject(servers.value)) return config;
    const changed = namesOf(servers).reduce((map, name) => {
      const stronger = memberOf(memberOf(above, block), name);
      return withMember(map, name, withoutSpellings(memberOf(map, name), stronger));
    }, servers);
    return withMember(config, block, changed);
  }, below);
  return layOver(above, settled);
}

/** A config with a server of `servers` among the pasted ones. */
function asPasted(config: Laid, name: string): Laid {
  const [own, pasted] = [memberOf(config, "servers"), memberOf(config, "mcpServers")];
  if (!namesOf(own).includes(name) || namesOf(pasted).includes(name)) return config;
  const moved = withMember(pasted, name, memberOf(own, name));
  return withMember(withMember(config, "servers", withMember(own, name)), "mcpServers", moved);
}

/** An entry of a server without what the stronger one says in another spelling. */
function withoutSpellings(entry: Laid, stronger: Laid): Laid {
  const pairs = [...SPELLINGS, ...SPELLINGS.map(([left, right]) => [right, left] as const)];
  return pairs.reduce(
    (rest, [said, other]) =>
      memberAt(stronger, said).value == null ? rest : withoutAt(rest, other),
    entry,
  );
}

/** Lays one value over another. What is `null` says nothing: it is a section whose entries are commented out. */
function layOver(upper: Laid, lower: Laid): Laid {
  if (upper.value === undefined || upper.value === null) return lower;
  if (!isPlainObject(upper.value) || !isPlainObject(lower.value)) return upper;
  const keys = new Set([...Object.keys(lower.value), ...Object.keys(upper.value)]);
  const members = [...keys].map(
    (key) => [key, layOver(memberOf(upper, key), memberOf(lower, key))] as const,
  );
  return {
    value: Object.fromEntries(members.map(([key, { value }]) => [key, value])),
    part: { ...upper.part, parts: new Map(members.map(([key, { part }]) => [key, part])) },
  };
}

/** What a value has under a key; the place is that of the value itself, where it stands in no text. */
export function memberOf({ value, part }: Laid, key: string): Laid {
  const known = isPlainObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  const { written, layer } = part;
  return {
    value: known,
    part: part.parts.get(key) ?? { written: [...written, key], parts: new Map(), layer },
  };
}

/** Values have parts that the text does not show: those of a merge key of YAML, and names with rare escapes. */
export function complete(laid: Laid): Laid {
  const { value, part } = laid;
  if (isPlainObject(value))
    for (const key of Object.keys(value)) part.parts.set(key, complete(memberOf(laid, key)).part);
  return laid;
}

function memberAt(laid: Laid, path: ConfigPath): Laid {
  return path.reduce<Laid>((each, key) => memberOf(each, String(key)), laid);
}

function namesOf({ value }: Laid): readonly string[] {
  return isPlainObject(value) ? Object.keys(value) : [];
}

/** With a member, or without it. */
function withMember({ value, part }: Laid, key: string, member?: Laid): Laid {
  const { [key]: _, ...rest } = isPlainObject(value) ? value : {};
  const parts = new Map([...part.parts].filter(([each]) => each !== key));
  if (!member) return { value: rest, part: { ...part, parts } };
  parts.set(key, member.part);
  return { value: { ...rest, [key]: member.value }, part: { ...part, parts } };
}

function withoutAt(laid: Laid, [key, ...rest]: ConfigPath): Laid {
  const name = String(key);
  const member = memberOf(laid, name);
  if (member.value === undefined) return laid;
  if (rest.length === 0) return withMember(laid, name);
  return isPlainObject(member.value) ? withMember(laid, name, withoutAt(member, rest)) : laid;
}

/** A config with all servers in one block, and each of their options in our spelling: what it says, however it is written. */
export function plainServers(config: unknown): unknown {
  if (!isPlainObject(config)) return config;
  const { servers, mcpServers, ...rest } = config;
  const all = [mcpServers, servers].flatMap((block) =>
    isPlainObject(block) ? Object.entries(block) : [],
  );
  return { ...rest, servers: Object.fromEntries(all.map(([name, each]) => [name, plain(each)])) };
}

function plain(server: unknown): unknown {
  if (!isPlainObject(server)) return server;
  return SPELLINGS.reduce<unknown>((entry, [own, other]) => {
    const said = valueAt(entry, other);
    if (said === undefined) return entry;
    const rest = withValue(entry, other, undefined);
    if (valueAt(rest, own) !== undefined) return rest;
    const isOpposite = other[0] === "disabled" && typeof said === "boolean";
    return withValue(rest, own, isOpposite ? !said : said);
  }, server);
}
