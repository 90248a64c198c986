import type { Logger } from "pino";
import type { Principal } from "../kit/types.ts";

/**
 * Something that a face could list.
 *
 * @example const isPublic = ({ server, kind }: Listed): boolean => kind === "tool" && server === "search";
 */
export interface Listed {
  readonly server: string;
  readonly kind: "tool" | "resource" | "resourceTemplate" | "prompt";
  /** Name of the tool or prompt at its own server, the resource's URI, or the template. */
  readonly name: string;
}

/**
 * What a filter that looks at principals says of itself.
 *
 * @example const options: FilterOptions = { viewOf: ({ roles }) => (roles.has("admin") ? "admin" : "other") };
 */
export interface FilterOptions {
  /**
   * Names what a principal sees, e.g. its role, in a word: few views are cheap, at most 1,000 are kept. Asked with every request,
   * so it looks nothing up. For one that it cannot tell it throws: that one sees nothing.
   */
  readonly viewOf: (principal: Principal) => string;
  /**
   * `lists` for a plugin that refuses calls itself, in the stage `gate`, and says why: what the filter hides is then in no list, and
   * a call of it reaches that stage. Default: `everything`.
   */
  readonly hides?: "everything" | "lists";
}

/** A filter as registered. */
export interface RegisteredFilter extends Partial<FilterOptions> {
  readonly plugin: string;
  readonly shows: (item: Listed, principal: Principal) => boolean;
}

/**
 * Filters that look at the principal, as one.
 *
 * @example const view = (filters: PrincipalFilters, principal: Principal) => filters.viewOf(principal);
 */
export interface PrincipalFilters {
  /** Principals of one view see the same; `undefined` for one that sees nothing, because a filter failed. */
  viewOf(principal: Principal): string | undefined;
  /** Whether something is in the lists of a principal. */
  shows(item: Listed, principal: Principal): boolean;
  /** Whether something exists for a principal: what does not is neither listed nor there to be called. */
  exists(item: Listed, principal: Principal): boolean;
}

/** Puts the filters together that look at the principal; `undefined` when there is none, so that nobody pays for any. */
export function combinePrincipalFilters(
  filters: readonly RegisteredFilter[],
  log: Logger,
): PrincipalFilters | undefined {
  const byPrincipal = filters.filter(isByPrincipal);
  if (byPrincipal.length === 0) return undefined;
  // A filter decides what somebody may reach: one that fails lets nobody through.
  const attempt = <T>(plugin: string, ask: () => T, otherwise: T): T => {
    try {
      return ask();
    } catch (err) {
      log.error({ err, plugin }, "a filter failed: what it decides about is hidden");
      return otherwise;
    }
  };
  const askAll =
    (those: typeof byPrincipal): PrincipalFilters["shows"] =>
    (item, principal) =>
      those.every(({ plugin, shows }) => {
        // A promise, which a careless filter returns, is no yes.
        const shown: unknown = attempt(plugin, () => shows(item, principal), false);
        return shown === true;
      });
  return {
    viewOf(principal) {
      const keys = byPrincipal.map(({ plugin, viewOf }) =>
        attempt<unknown>(plugin, () => viewOf(principal), undefined),
      );
      if (!keys.every((key) => typeof key === "string")) return undefined;
      return keys.length === 1 ? keys[0] : JSON.stringify(keys);
    },
    shows: askAll(byPrincipal),
    exists: askAll(byPrincipal.filter(({ hides }) => hides !== "lists")),
  };
}

/** For whom a filter cannot name a view, there is nothing. */
export function forKnown(filters: PrincipalFilters): Pick<PrincipalFilters, "shows" | "exists"> {
  const isKnown = (principal: Principal): boolean => filters.viewOf(principal) !== undefined;
  return {
    shows: (item, principal) => isKnown(principal) && filters.shows(item, principal),
    exists: (item, principal) => isKnown(principal) && filters.exists(item, principal),
  };
}

function isByPrincipal(
  filter: RegisteredFilter,
): filter is RegisteredFilter & Required<Pick<RegisteredFilter, "viewOf">> {
  return filter.viewOf !== undefined;
}
