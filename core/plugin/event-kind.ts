import type { ZodType } from "zod";
import type { GatewayHooks, PluginHook } from "./hooks.ts";
import type { PersonRole } from "../kit/roles.ts";

/**
 * A kind of events that a plugin declares in {@link PluginDefinition.events}, under the name of its hook. The hook takes one
 * argument: the data.
 *
 * @example
 * const kind: EventKind<{ shelf: string; by: string }> = {
 *   description: "A shelf was filled.",
 *   access: "viewer",
 *   data: z.strictObject({ shelf: z.string().max(100), by: z.string() }),
 *   owner: "by",
 * };
 */
export interface EventKind<T = unknown> {
  /** When it happens, as a sentence of at most 200 characters. */
  readonly description: string;
  /** Who may see it, as for a route. */
  readonly access: PersonRole;
  /** A zod object of the data: no secrets, and at most 16 KiB as JSON. Members that it does not have are not told. */
  readonly data: ZodType<T>;
  /**
   * The member that holds the `ref` of a principal: only that one, and operators, see the event. Default, and where the data does
   * not have the member: all with the role.
   */
  readonly owner?: keyof T & string;
  /**
   * The member that tells one event from another, for a kind that every gateway of a store emits by itself: readers, who are told
   * what all gateways emit, are then told once. Default: each gateway tells of something else.
   */
  readonly once?: keyof T & string;
}

/**
 * Kinds of events by the names of their hooks.
 *
 * @example
 * declare module "propylon" { interface GatewayHooks { shelf_filled: (news: { shelf: string }) => void } }
 * const data = z.strictObject({ shelf: z.string().max(100) });
 * const events: EventKinds = { shelf_filled: { description: "A shelf was filled.", access: "viewer", data } };
 */
export type EventKinds = { readonly [K in PluginHook]?: EventKind<Parameters<GatewayHooks[K]>[0]> };
