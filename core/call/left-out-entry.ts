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
