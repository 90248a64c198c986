import { defineService, type Principal } from "propylon";
import type { AccountsService } from "propylon/plugins/access";

/** What callers may see, for the tools that show it. */
export interface LibrariesService {
  /**
   * What a caller sees now: in order, each once, frozen. Ask once for each call. Empty for principals that team-auth did not let in,
   * and it never means all of them.
   *
   * @throws {GatewayError} `unavailable` while the database is away
   */
  of(principal: Principal): readonly string[];
  /** Whether a library is in a set; in one that is absent there is none. */
  within(set: readonly string[] | undefined, uid: string): boolean;
}

/**
 * Service token of the team-auth plugin: `inject: { libraries: Libraries }`. The access plugin finds it under the same name, as that of
 * the accounts that it explains.
 */
export const Libraries = defineService<LibrariesService & AccountsService>("accounts");
