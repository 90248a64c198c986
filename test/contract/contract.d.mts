/** One demand of a source document. */
export interface Requirement {
  readonly id: string;
  /** Place in the source. */
  readonly section: string;
  readonly text: string;
  /** Plugins that own it; `core`, `tests` and `project` besides. */
  readonly plugins: readonly string[];
  /** C consumer side, N a number to show, F future in the source, X out of the source's scope, D document or process duty. */
  readonly flags: readonly ("C" | "N" | "F" | "X" | "D")[];
}
export type State = "cited" | "deferred" | "open";
export interface Tally extends Record<State, number> {
  readonly group: string;
}
export declare const SOURCES: Readonly<Record<string, string>>;
export declare const requirements: readonly Requirement[];
export declare const deferred: Readonly<Record<string, string>>;
export declare function citationsIn(text: string): string[];
export declare function citations(): Map<string, Set<string>>;
export declare function standing(
  cited?: ReadonlyMap<string, unknown>,
): readonly (Requirement & { readonly state: State })[];
export declare function tally(
  list: readonly (Requirement & { readonly state: State })[],
  groupsOf: (requirement: Requirement) => readonly string[],
): Tally[];
