import { useState } from "react";
import type { Route } from "../../request.ts";

/** Writes the file and applies it. */
export const APPLY: Route = "PUT /_meta/config";

/** Where a value stands in the config. */
export type Path = readonly (string | number)[];

/** A change that was typed and not made yet. */
export interface Change {
  readonly path: Path;
  /** What was in force when it began; `undefined`: nothing. */
  readonly before: unknown;
  /** What was typed; `undefined`: the value is to be removed. */
  readonly text: string | undefined;
}

/** Changes, and the version of the config that they were made for. */
export interface Draft {
  readonly version: string;
  readonly changes: readonly Change[];
}

/** What the gateway shows in place of a secret. */
const MASK = "***";

/** The changes of a visitor: they stay until they are applied or taken back, whatever happens to the config meanwhile. */
export function useDraft(): {
  readonly draft: Draft | undefined;
  readonly begin: (version: string, path: Path, before: unknown) => void;
  readonly type: (path: Path, text: string | undefined) => void;
  readonly undo: (path: Path) => void;
  readonly rebase: (version: string, valueAt: (path: Path) => unknown) => void;
  readonly clear: () => void;
} {
  const [draft, setDraft] = useState<Draft>();
  const update = (next: (changes: readonly Change[]) => readonly Change[]): void =>
    setDraft((now) => {
      const changes = next(now?.changes ?? []);
      return now && changes.length > 0 ? { ...now, changes } : undefined;
    });
  return {
    draft,
    begin: (version, path, before) =>
      setDraft((now = { version, changes: [] }) => {
        if (now.changes.some((change) => isSame(change.path, path))) return now;
        const change = { path, before, text: initialOf(before) };
        return { ...now, changes: [...now.changes, change] };
      }),
    type: (path, text) =>
      update((changes) =>
        changes.map((change) => (isSame(change.path, path) ? { ...change, text } : change)),
      ),
    undo: (path) => update((changes) => changes.filter((change) => !isSame(change.path, path))),
    rebase: (version, valueAt) =>
      setDraft(
        (now) =>
          now && {
            version,
            changes: now.changes.map((change) => ({ ...change, before: valueAt(change.path) })),
          },
      ),
    clear: () => setDraft(undefined),
  };
}

/** Whether two paths name one value. */
export function isSame(one: Path, other: Path): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** A secret is not known here, so a new one is typed from the beginning. */
function initialOf(before: unknown): string {
  if (before === undefined) return "";
  if (typeof before !== "string") return JSON.stringify(before);
  if (before.includes(MASK)) return "";
  return isJson(before) ? JSON.stringify(before) : before;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What was typed as a value: JSON where it is some, else the text itself, as in a config file. */
export function toValue(text: string): unknown {
  return isJson(text) ? (JSON.parse(text) as unknown) : text;
}

/** `servers.shop.url` as a path; digits name a place in a list. */
export function toPath(text: string): Path {
  return text
    .trim()
    .split(".")
    .map((part) => (/^\d{1,6}$/.test(part) ? Number(part) : part));
}

/** The changes as the gateway takes them; `undefined` while one of them is not typed yet. */
export function editsOf({ changes }: Draft): readonly object[] | undefined {
  if (changes.some(({ text }) => text?.trim() === "")) return undefined;
  return changes.map(({ path, text }) =>
    text === undefined ? { path } : { path, value: toValue(text) },
  );
}
