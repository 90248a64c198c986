import type { FlagMap } from "./flags.ts";
import type { FlagChange } from "../service.ts";
import type { ConnectionHistory, Remembered } from "./state.ts";

/** Everything that is written down. */
export interface Snapshot {
  readonly flags: FlagMap;
  readonly history: ReadonlyMap<string, ConnectionHistory>;
  /** ISO 8601. */
  readonly updatedAt: string;
}

/** Where flags and news about connections are written down: a file, or the gateway's store. */
export interface StateKeeper {
  /** Tells two keepers of one place from those of two. */
  readonly place: string;
  /** Whether a later version of the gateway wrote what is there, so that it is left alone. */
  readonly isForeign: boolean;
  /** Whether other replicas write there too: then what is there counts, else what is in memory. */
  readonly isShared: boolean;
  /**
   * Reads what is there; `undefined` for nothing.
   *
   * @throws {GatewayError} when it cannot be used: what it switched off must not be on
   */
  load(): Promise<Remembered | undefined>;
  /**
   * Writes changes down, all or none.
   *
   * @param now everything as it will be with them
   * @returns is called once they are in force: from then on changes of other replicas are told again
   * @throws {GatewayError} `io_error`, `unavailable`; then nothing changed
   */
  change(changes: readonly FlagChange[], now: Snapshot): Promise<() => void>;
  /** Resolves once changes that were written down are in force at every other replica that lives. Never rejects. */
  agree?(changes: readonly FlagChange[]): Promise<void>;
  /** Writes down what is new besides: news about connections, flags of what is gone. */
  follow(now: Snapshot): Promise<void>;
  /** Lets another gateway use it. Safe to call more than once. */
  release(): Promise<void>;
}
