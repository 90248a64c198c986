import type { GatewayConfig } from "../config/schema.ts";
import type { RouteMethod, RouteOptions } from "./route.ts";

/**
 * A kind of thing that plugins contribute, e.g. panels of a web interface. One plugin owns it and reads what the others add. Two
 * points are the same when their ids are.
 *
 * @template T what plugins add
 * @template R what the owner reads
 *
 * @example const countOf = (gateway: PluginContext, point: Point<never>): number => gateway.point(point).length;
 */
export interface Point<T = unknown, R = unknown> {
  readonly id: string;
  readonly rules: PointRules<T, R>;
}

/**
 * What must hold for the values of a point.
 *
 * @example
 * const rules: PointRules<Quota, Quota> = { nameOf: ({ value }) => `the quota "${value.name}"` };
 */
export interface PointRules<T, R> {
  /**
   * Says that two plugins added one, as a sentence, where the point takes one value at most. Default: it takes many.
   * @param one name of the plugin that added the first
   * @param other name of the plugin that added the second
   */
  only?(one: string, other: string): string;
  /** What to do about two, as a sentence; default: to take one of the plugins out. */
  readonly hint?: string;
  /**
   * Names a value that is kept, with its article where that reads well: no two may have one name. Default: none has a name.
   * @example nameOf: ({ value }) => `the quota "${value.name}"`
   */
  nameOf?(added: Contribution<T>): string;
  /**
   * Checks a value and makes of it what the owner reads, `undefined` to leave it out; default: the value itself. It is called once for each config, by
   * `propylon check` as well, before anything of the config serves. A throw refuses the config.
   */
  read?(added: Contribution<T>, gateway: ComposedGateway): R | undefined;
}

/**
 * A value with the plugin that added it.
 *
 * @example const labelOf = ({ plugin, value }: Contribution<Quota>): string => `${plugin}: ${value.name}`;
 */
export interface Contribution<T> {
  /** Of the plugin in the config. */
  readonly key: string;
  /** Name of the plugin. */
  readonly plugin: string;
  readonly value: T;
}

/** A value as a plugin added it, with the point that it belongs to. */
export interface Added extends Contribution<unknown> {
  readonly point: Point;
}

/**
 * A gateway as its plugins compose it, before it serves.
 *
 * @example
 * const isThere = ({ route }: ComposedGateway): boolean => route("GET", "/_meta/quotas") !== undefined;
 */
export interface ComposedGateway {
  readonly config: GatewayConfig;
  /** A route of the first listener; parameters of the path may have other names. */
  readonly route: (
    method: RouteMethod,
    path: string,
  ) => { readonly plugin: string; readonly options: RouteOptions } | undefined;
}

/**
 * Names a point that plugins contribute to. Export it beside the plugin that owns it.
 *
 * @param id unique among points, e.g. the plural of what they are; those of the gateway are `authenticators`, `checks`,
 * `endpoint-servers`, `endpoints`, `event-kinds`, `filters`, `listeners`, `pages`, `reshapes`, `server-types` and `stand-ins`
 *
 * @example
 * export const Quotas = definePoint<Quota>("quotas", { nameOf: ({ value }) => `the quota "${value.name}"` });
 *
 * // Any plugin:
 * gateway.add(Quotas, { name: "calls", perDay: 1000 });
 *
 * // The plugin that owns it, for what is in force:
 * const quotas = (): readonly Quota[] => gateway.point(Quotas);
 */
export function definePoint<T, R = T>(id: string, rules: PointRules<T, R> = {}): Point<T, R> {
  return { id, rules };
}
