import type { WorkerStatus } from "../plugin/description.ts";
import type { Failure } from "./channel.ts";

/** Names of what the primary and its workers ask and tell each other. */
export const WORKER = {
  /** Worker: what am I to run? Answered with {@link Orders}. */
  join: "join",
  /** Worker: I serve. */
  ready: "ready",
  /** Primary: do you still answer? */
  ping: "ping",
  /** Primary: say that you will end soon. */
  notice: "notice",
  /** Primary: end, as by a signal. */
  end: "end",
  /** Primary: so the workers are. A list of {@link WorkerStatus}. */
  status: "status",
  /** Primary: what do you run? Answered with a {@link Summary}, once the servers are settled. */
  summary: "summary",
  /** Primary: your metrics? */
  ownMetrics: "metrics:own",
  /** Worker: I am this replica of the store. */
  replica: "replica",
  /** Primary: the worker has ended that was this replica of the store. */
  gone: "gone",
  /** Worker: everybody's metrics? */
  metrics: "metrics",
  /** Primary: apply {@link Round}. Answered with a report. */
  apply: "apply",
  /** Worker: I could apply the round of this number. Answered when all could. */
  vote: "vote",
  /** Primary: write the file as in your change of this number, all could apply it. */
  write: "write",
  /** Worker: let all apply this {@link Change}, then have me write it. */
  change: "change",
  /** Worker: let all read the config again. */
  reload: "reload",
  /** Primary: a config was refused, {@link Refused} says why. */
  refused: "refused",
  /** Worker: these connections are closed; their places may be given again once that is answered. */
  closed: "closed",
  /** Worker: what the primary follows of the config that I run, {@link InForce}. */
  inForce: "in-force",
} as const;

/** What a worker is to run. */
export interface Orders {
  readonly number: number;
  /** Config in force; absent when it is read from where it stands: a config that is code, or a command line. */
  readonly text?: string | undefined;
  /** How many configs were applied, this one included. */
  readonly generation: number;
  /** The store that the primary keeps; absent when all workers share that of the config anyway. */
  readonly store?: { readonly durable: boolean } | undefined;
  readonly status: readonly WorkerStatus[];
  /** Whether the primary holds the worker's connections too. */
  readonly keepsConnections: boolean;
}

/** What the primary follows of the config in force. */
export interface InForce {
  /** Files of plugins to be watched, besides those of the config. */
  readonly sources: readonly string[];
  readonly timeouts: ProcessTimeouts;
}

/** How long the end of a process takes, in milliseconds. */
export interface ProcessTimeouts {
  readonly grace: number;
  readonly notice: number;
}

/** A config that all are to apply, or none. */
export interface Round {
  readonly number: number;
  readonly text?: string | undefined;
}

/** A new text of the config's file. */
export interface Change {
  /** The worker's own number for it. */
  readonly id: number;
  readonly text: string;
}

/** Why a config was not applied. */
export interface Refused {
  readonly failure: Failure;
}
