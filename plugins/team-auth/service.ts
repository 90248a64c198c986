import { defineService, type Principal } from "propylon";
import { NO_LIBRARIES } from "./snapshot.ts";
import { credentialOf } from "./resolver.ts";

/** What callers may see, for the tools that show it. */
export interface LibrariesService {
  /**
   * The libraries of whoever makes a call: in order, each once, frozen. Empty for principals that team-auth did not let in, and it
   * never means all of them.
   */
  of(principal: Principal): readonly string[];
  /** Whether a library is in a set; in one that is absent there is none. */
  within(set: readonly string[] | undefined, uid: string): boolean;
}

/** Service token of the team-auth plugin: `inject: { libraries: Libraries }`. */
export const Libraries = defineService<LibrariesService>("libraries");

/** What the plugin provides. */
export const LIBRARIES: LibrariesService = {
  of: (principal) =>
    credentialOf(principal) ? (principal.claims!["libraries"] as readonly string[]) : NO_LIBRARIES,
  within: (set, uid) => set?.includes(uid) ?? false,
};
