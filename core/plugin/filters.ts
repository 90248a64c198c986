import type { Logger } from "pino";
import type { Principal } from "../call/types.ts";

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

/** A filter as registered. */
export interface RegisteredFilter {
  readonly plugin: string;
  readonly shows: (item: Listed, principal: Principal) => boolean;
  /** Set for a filter that looks at the principal. */
  readonly viewOf?: (principal: Principal) => string;
}

/**
 * Filters that look at the principal, as one.
 *
 * @example const view = (filters: PrincipalFilters, principal: Principal) => filters.viewOf(principal);
 */
export interface PrincipalFilters {
  /** Principals of one view see the same; `undefined` for one that sees nothing, because a filter failed. */
  viewOf(principal: Principal): string | undefined;
  /** Whether something exists for a principal: what does not is neither listed nor there to be called. */
  shows(item: Listed, principal: Principal): boolean;
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
  return {
    viewOf(principal) {
      const keys = byPrincipal.map(({ plugin, viewOf }) =>
        attempt<unknown>(plugin, () => viewOf(principal), undefined),
      );
      if (!keys.every((key) => typeof key === "string")) return undefined;
      return keys.length === 1 ? keys[0] : JSON.stringify(keys);
    },
    shows: (item, principal) =>
      byPrincipal.every(({ plugin, shows }) => {
        // A promise, which a careless filter returns, is no yes.
        const shown: unknown = attempt(plugin, () => shows(item, principal), false);
        return shown === true;
      }),
  };
}

function isByPrincipal(
  filter: RegisteredFilter,
): filter is RegisteredFilter & Required<Pick<RegisteredFilter, "viewOf">> {
  return filter.viewOf !== undefined;
}
