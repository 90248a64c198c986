import { defineService, type Call } from "propylon";
import type { Deadline } from "propylon/internal";

/** One flag to set: that of a server, or of one tool of it. */
export interface Flag {
  readonly server: string;
  /** Name of the tool at its own server; absent = the server itself. */
  readonly tool?: string;
  readonly enabled: boolean;
}

/** A flag that was changed, and by whom (`ref` of the principal). */
export interface FlagChange extends Flag {
  readonly by: string;
  /** Another replica of the store switched it; its hook tells of it there, too. */
  readonly remote?: true;
}

/** One server in the state file, version 1. */
export interface ServerState {
  readonly enabled: boolean;
  readonly tools: Readonly<Record<string, { readonly enabled: boolean }>>;
  /** ISO 8601 of the last successful connect, as far as known. */
  readonly lastInit: string | null;
  /** Why the last connect failed, as far as known. */
  readonly lastError: string | null;
  /** Failed connects in a row. */
  readonly attempts: number;
}

/** The state file, version 1. */
export interface GatingState {
  readonly version: 1;
  readonly servers: Readonly<Record<string, ServerState>>;
  /** ISO 8601. */
  readonly updatedAt: string;
}

/** How long a call may run, and what became of what its caller asked for. Milliseconds. */
export interface EffectiveDeadline extends Deadline {
  /** Whether the caller asked for more than the maximum and got the maximum. */
  readonly clamped: boolean;
}

/** Which servers and tools are switched on: one map in memory decides, the state file or the store follows it. */
export interface GatingService {
  /** A server's own flag. */
  isServerEnabled(server: string): boolean;
  /** A tool's own flag, whatever its server's is. */
  isToolEnabled(server: string, tool: string): boolean;
  /**
   * Sets flags, all or none, and writes them down before it resolves. Setting what is set already changes nothing. A server that
   * the config leaves out (`enabled: false`) is switched on there.
   * @param by `ref` of the principal, or the name of a plugin
   * @returns the flags that changed
   * @throws {GatewayError} `not_found` for a server or tool that does not exist; `io_error` or `unavailable` when the state cannot be written,
   * and then nothing changed; `no_config_mode` and others of `management.edit` for a server that the config leaves out
   */
  set(flags: readonly Flag[], by: string): Promise<readonly Flag[]>;
  /** What is written down. */
  export(): GatingState;
  /** How long a call may run; the rule that the pipeline uses. Throws what the pipeline would. */
  deadlineOf(
    call: Pick<Call, "method" | "server" | "name" | "timeout" | "meta">,
  ): EffectiveDeadline;
}

/** Service token of the gating plugin. */
export const Gating = defineService<GatingService>("gating");

declare module "propylon" {
  interface GatewayHooks {
    /** A server or tool was switched on or off. */
    "gating:changed": (change: FlagChange) => void;
  }
}
