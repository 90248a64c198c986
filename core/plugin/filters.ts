import type { Logger } from "pino";
import { GatewayError } from "../kit/errors.ts";
import type { Principal } from "../kit/types.ts";
import { definePoint, type Point } from "./point.ts";

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
 * What decides what is in lists; see {@link Filters}.
 *
 * @example const open: Filter = { shows: (item) => item.server !== "payroll" };
 */
export interface Filter {
  /** Whether something is shown. With {@link viewOf} it also looks at the principal, and answers alike for all of one view. */
  readonly shows: (item: Listed, principal: Principal) => boolean;
  /**
   * Names what a principal sees, e.g. its role, in a word: few views are cheap, at most 1,000 are kept. Asked with every request,
   * so it looks nothing up. For one that it cannot tell it throws: that one sees nothing. Default: all see the same, and hiding
   * refuses no call.
   */
  readonly viewOf?: (principal: Principal) => string;
  /**
   * `lists` for a plugin that refuses calls itself, in the stage `gate`, and says why: what the filter hides is then in no list, and
   * a call of it reaches that stage. Default with {@link viewOf}: `everything`.
   */
  readonly hides?: "everything" | "lists";
}

/**
 * A filter with the plugin that added it.
 *
 * @example const owners = (filters: readonly RegisteredFilter[]): string[] => filters.map(({ plugin }) => plugin);
 */
export interface RegisteredFilter extends Filter {
  readonly plugin: string;
}

/**
 * What hides things from the lists of every interface. Asked while a list is built, never per request: when its answers change, the plugin
 * says so to the service {@link Lists}, and lists are rebuilt and clients told.
 *
 * A filter without `viewOf` hides for everybody and refuses no call; that is for the stage `gate`. One with `viewOf` decides by
 * principal what exists at all: what it hides from somebody is in none of their lists, documents and completions, and a call, read or
 * subscription of it is answered as for a name that nobody has. It is asked once per view while it is built, and for what no list
 * names (a resource that is read, a call over HTTP) when it is asked for; a throw hides. A principal whose `viewOf` changed sees its
 * new view with its next request, told or not.
 *
 * @example
 * gateway.add(Filters, {
 *   shows: (item, { roles }) => roles.has("admin") || item.server !== "payroll",
 *   viewOf: ({ roles }) => (roles.has("admin") ? "admin" : "other"),
 * });
 */
export const Filters: Point<Filter, RegisteredFilter> = definePoint("filters", {
  read({ plugin, value }) {
    const { shows, viewOf } = value ?? {};
    // One whose viewOf is left out by mistake would be for everybody, and refuse no call.
    if (typeof shows !== "function" || !["undefined", "function"].includes(typeof viewOf))
      throw new GatewayError("invalid", `What plugin "${plugin}" adds is not a filter.`, {
        hint: "Write gateway.add(Filters, { shows: (item) => true }), with a function viewOf where it looks at principals.",
      });
    return {
      plugin,
      shows: shows.bind(value),
      ...(viewOf && { viewOf: viewOf.bind(value) }),
      ...(value.hides && { hides: value.hides }),
    };
  },
});

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
  const attempt = (plugin: string, ask: () => unknown): unknown => {
    try {
      return answerOf(ask());
    } catch (err) {
      log.error({ err, plugin }, "a filter failed: what it decides about is hidden");
      return undefined;
    }
  };
  const askAll =
    (those: typeof byPrincipal): PrincipalFilters["shows"] =>
    (item, principal) =>
      those.every(({ plugin, shows }) => attempt(plugin, () => shows(item, principal)) === true);
  return {
    viewOf(principal) {
      const keys = byPrincipal.map(({ plugin, viewOf }) =>
        attempt(plugin, () => viewOf(principal)),
      );
      if (!keys.every((key) => typeof key === "string")) return undefined;
      return keys.length === 1 ? keys[0] : JSON.stringify(keys);
    },
    shows: askAll(byPrincipal),
    exists: askAll(byPrincipal.filter(({ hides }) => hides !== "lists")),
  };
}

/** A promise, which a careless filter returns, is not an answer; one that fails must not end the process. */
export function answerOf(answer: unknown): unknown {
  if (!(answer instanceof Promise)) return answer;
  answer.catch(() => {});
  return undefined;
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
