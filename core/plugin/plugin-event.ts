import type { Json } from "../kit/types.ts";
import type { PersonRole } from "../kit/roles.ts";

/**
 * A kind of events that a plugin declared. Except for `check` it is data.
 *
 * @example const names = gateway.point(EventKinds).map(({ kind }: DeclaredEventKind) => kind);
 */
export interface DeclaredEventKind {
  readonly kind: string;
  readonly plugin: string;
  readonly description: string;
  readonly access: PersonRole;
  /** The member of the data that holds the `ref` of the only principal, besides operators, that may see it; `null`: none. */
  readonly owner: string | null;
  /** JSON Schema of the data. */
  readonly schema: Json;
  /**
   * The event that tells of some data.
   * @throws {GatewayError} `invalid` for data that is not as declared, or too large
   */
  check(data: unknown): PluginEvent;
}

/**
 * An event of a declared kind, checked by the gateway, for listeners of `plugin:event`.
 *
 * @example gateway.hook("plugin:event", ({ kind, data }: PluginEvent) => gateway.log.info({ kind, data }));
 */
export interface PluginEvent {
  readonly kind: string;
  readonly plugin: string;
  readonly access: PersonRole;
  /** As the schema of the kind gives it. */
  readonly data: Json;
  /** `ref` of the only principal, besides operators, that may see it. */
  readonly owner?: string;
  /** What tells it from others of its kind, where every replica of a store emits it on its own. */
  readonly once?: string;
}
