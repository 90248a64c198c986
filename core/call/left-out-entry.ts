/**
 * The lists of a server, by their member in the result.
 *
 * @example const kind: EntryKind = "resourceTemplates";
 */
export type EntryKind = "tools" | "resources" | "resourceTemplates" | "prompts";

/**
 * An entry that is not shown, and why.
 *
 * @example
 * const leftOut: LeftOut[] = [];
 * const tools = usableEntries("tools", page.tools, leftOut);
 */
export interface LeftOut {
  readonly kind: EntryKind;
  /** As the server names it, or its place in the list. */
  readonly name: string;
  readonly why: string;
  /** It is shown all the same; some clients refuse it. */
  readonly isKept?: true;
}

/** Entries that are named in one warning. */
export const MOST_TOLD = 10;

/** An entry that is left out, as a line. */
export function leftOutLine({ kind, name, why }: LeftOut): string {
  return `${kind} ${JSON.stringify(name)}: ${why}`;
}

/**
 * What is left out of a server's lists, and what some clients refuse, as one sentence; `undefined`: nothing.
 *
 * @example const sentence = leftOutText(name, leftOutLog.all);
 */
export function leftOutText(server: string, all: readonly LeftOut[]): string | undefined {
  if (all.length === 0) return undefined;
  const some = all.slice(0, MOST_TOLD).map((each) => {
    return `${leftOutLine(each)}${each.isKept ? " (some clients refuse it)" : " (left out)"}`;
  });
  const more = all.length > MOST_TOLD ? `; and ${all.length - MOST_TOLD} more` : "";
  return `Of the lists of server "${server}": ${some.join("; ")}${more}.`;
}
