import { isDeepStrictEqual } from "node:util";
import type { ConfigDraft, ConfigEdit } from "../config/edit.ts";
import { pathText, type ConfigPath } from "../config/issue.ts";
import { isPlainObject } from "../kit/json.ts";
import { valueAt, withValue } from "../config/value-at.ts";
import { plainServers } from "./laid.ts";
import { isOverride, type LayeredText } from "./layers.ts";
import { byHand, checkPresence, draftConfig, locate } from "./write.ts";

/** Reads a config with its layers. */
export type ReadLayers = (how: {
  /** In place of the content of the first file. */
  readonly text?: string;
  /** In place of the environment that the gateway runs in; `null`: none. */
  readonly name?: string | null;
}) => Promise<LayeredText>;

/**
 * Works out edits of a config. They are refused unless the config says afterwards what it said before, except for the edits. Layers,
 * overrides, anchors and other spellings have a part in what it says: a server that replaces one of a layer would get the headers
 * of that, credentials among them; what is removed would still be there; of a list of a layer one item would be left; and a map
 * with an anchor would change elsewhere too.
 *
 * @param expected version that the edits were made for
 * @throws {GatewayError} as {@link draftConfig}; `no_config_mode` for an edit that would come out as something else
 */
export async function draftEdits(
  file: string,
  edits: readonly ConfigEdit[],
  expected: string | undefined,
  read: ReadLayers,
): Promise<ConfigDraft> {
  // First, whether it can be edited at all, and is as it was.
  await draftConfig(file, [], expected);
  const before = await read({});
  const wanted = afterEdits(before, edits, file);
  const own = edits.map((edit) => inFile(edit, before));
  const draft = await draftConfig(file, own, expected);
  const { text } = draft;
  if (!isDeepStrictEqual(plainServers((await read({ text })).value), wanted))
    throw elsewhere(before, edits);
  await checkEnvironments(before, edits, text, read);
  return draft;
}

/** What a map or nothing would be joined with in another environment is refused too. */
async function checkEnvironments(
  { environments, places }: LayeredText,
  edits: readonly ConfigEdit[],
  text: string,
  read: ReadLayers,
): Promise<void> {
  const whole = edits.filter(({ value }) => isPlainObject(value) || value == null);
  if (whole.length === 0 || environments.length === 0) return;
  for (const name of [...environments, null]) {
    const wanted = afterEdits(await read({ name }), edits);
    const found = plainServers((await read({ text, name })).value);
    const wrong = whole.filter(
      ({ path }) => !isDeepStrictEqual(valueAt(found, path), valueAt(wanted, path)),
    );
    if (wrong.length > 0) throw elsewhere({ places }, wrong);
  }
}

/** What a config is to say: all servers in one block, each option in our spelling. */
function afterEdits({ value }: LayeredText, edits: readonly ConfigEdit[], file?: string): unknown {
  return edits.reduce((whole, { path, value: item, when }) => {
    if (file !== undefined) checkPresence(isThere(whole, path), file, path, when);
    return withValue(whole, path, item === undefined ? item : JSON.parse(JSON.stringify(item)));
  }, plainServers(value));
}

function elsewhere({ places }: Pick<LayeredText, "places">, edits: readonly ConfigEdit[]): Error {
  const names = edits.map(({ path }) => pathText(path)).join(", ");
  return byHand(
    `A layer, an override, an anchor or another spelling has a part in ${names}, so this edit of ${places.file} would come out as something else.`,
    "the files of the config",
  );
}

/** A value that stands in the override in force is edited there. */
function inFile(edit: ConfigEdit, { value: whole, places }: LayeredText): ConfigEdit {
  const { path, value } = locate(edit, (at) => isThere(whole, at));
  const part = places.partAt(path);
  const isOverridden = part?.layer?.file === places.file && isOverride(String(part.written[0]));
  return isOverridden ? { path: part.written, value } : { path: edit.path, value: edit.value };
}

function isThere(value: unknown, path: ConfigPath): boolean {
  return valueAt(value, path) !== undefined;
}
