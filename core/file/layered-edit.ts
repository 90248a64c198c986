import { isDeepStrictEqual } from "node:util";
import { valueAt } from "../config/explain.ts";
import { pathText, type ConfigPath } from "../config/issue.ts";
import { isPlainObject } from "../config/names.ts";
import type { ConfigDraft, ConfigEdit } from "../config/edit.ts";
import { byHand, checkPresence, draftConfig, locate } from "./write.ts";
import type { LayeredText } from "./layers.ts";

/**
 * Works out an edit of the first file of a config with layers. It is refused unless the layers together say afterwards what they
 * said before, but for the edit: a server that replaces one of a layer would get the headers of that, credentials among them; what
 * is removed would still be there; and of a list of a layer one item would be left.
 *
 * @param read reads the layers, with another text of the first file
 * @throws {GatewayError} as {@link draftConfig}; `no_config_mode` for an edit that has to be made in another layer
 */
export async function draftLayered(
  file: string,
  edits: readonly ConfigEdit[],
  expected: string | undefined,
  read: (text?: string) => Promise<LayeredText>,
): Promise<ConfigDraft> {
  const before = await read();
  const wanted = edits.reduce((value, edit) => {
    const { path, value: item } = locate(edit, (at) => isThere(value, at));
    checkPresence(isThere(value, path), file, path, edit.when);
    return withValue(value, path, item);
  }, before.value);
  const own = edits.map((edit) => inFile(edit, before));
  const draft = await draftConfig(file, own, expected);
  const after = await read(draft.text);
  if (isDeepStrictEqual(spellAlike(after.value), spellAlike(wanted))) return draft;
  const names = edits.map(({ path }) => pathText(path)).join(", ");
  throw byHand(
    `A layer of ${before.places.file} has a part in ${names}, so this edit would come out as something else.`,
    "the layer",
  );
}

/** A value that stands in the override in force is edited there. */
function inFile(edit: ConfigEdit, { value: whole, places }: LayeredText): ConfigEdit {
  const { path, value } = locate(edit, (at) => isThere(whole, at));
  const part = places.partAt(path);
  const isOverride = part?.layer?.file === places.file && String(part.written[0]).startsWith("$");
  return isOverride ? { path: part.written, value } : { path: edit.path, value: edit.value };
}

/** With all servers in one block, and `enabled` for `disabled`: which of them an edit writes depends on the file. */
function spellAlike(config: unknown): unknown {
  if (!isPlainObject(config)) return config;
  const entry = (server: unknown): unknown => {
    if (!isPlainObject(server) || typeof server["disabled"] !== "boolean") return server;
    const { disabled, ...others } = server;
    return { enabled: !disabled, ...others };
  };
  const { servers, mcpServers, ...rest } = config;
  const all = [mcpServers, servers].flatMap((block) =>
    isPlainObject(block) ? Object.entries(block) : [],
  );
  return { ...rest, servers: Object.fromEntries(all.map(([name, each]) => [name, entry(each)])) };
}

function isThere(value: unknown, path: ConfigPath): boolean {
  return valueAt(value, path) !== undefined;
}

/** A copy with another value at a path, or without what is there. */
function withValue(owner: unknown, [key, ...rest]: ConfigPath, value: unknown): unknown {
  if (key === undefined) return value;
  const item = withValue(isThere(owner, [key]) ? valueAt(owner, [key]) : undefined, rest, value);
  if (Array.isArray(owner) || (owner === undefined && typeof key === "number")) {
    const items = Array.isArray(owner) ? [...(owner as unknown[])] : [];
    items.splice(Number(key), 1, ...(item === undefined ? [] : [item]));
    return items;
  }
  const others = Object.entries(owner ?? {}).filter(([each]) => each !== String(key));
  return Object.fromEntries(item === undefined ? others : [...others, [String(key), item]]);
}
