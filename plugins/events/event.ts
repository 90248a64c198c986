import { sseFrame } from "propylon/kit";
import { type PluginEvent, withoutTrouble } from "propylon/internal";
import type { TopicKind } from "./kinds.ts";

/** Who reads: operators see more of some events. */
export type Audience = "viewer" | "operator";

/** One event as it goes out. */
export interface Frame {
  /** A WebSocket message. */
  readonly text: string;
  /** A server-sent event. */
  readonly bytes: Uint8Array;
}

/** Kinds that tell of servers: why one is not well is for operators. */
const OF_SERVERS: ReadonlySet<string> = new Set<TopicKind>(["upstream_state", "breaker"]);

/** Severities of log lines, least first. */
export const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"] as const;

/** One of {@link LEVELS}. */
export type EventLevel = (typeof LEVELS)[number];

/** What only some events have. */
export interface EventDetails {
  /** Of events that a stream can be resumed from. */
  readonly id?: string;
  /** Its place among them. */
  readonly seq?: number;
  /** Of log lines. */
  readonly level?: EventLevel;
  /** Ref of whom it is about: only they and operators see it. Absent: everybody who may see the kind. */
  readonly owner?: string;
  /** Of kinds of plugins: who may see it. */
  readonly access?: PluginEvent["access"];
  /** Of kinds of plugins that every replica of a store tells on its own: what tells it from others of its kind. */
  readonly once?: string;
}

const encoder = new TextEncoder();

/** Something that happened. Its text is made when first wanted, once for all streams of an audience. */
export class ChannelEvent {
  readonly kind: string;
  readonly id: string | undefined;
  readonly seq: number | undefined;
  readonly level: EventLevel | undefined;
  readonly owner: string | undefined;
  readonly access: PluginEvent["access"] | undefined;
  readonly #data: object;
  readonly #frames: Partial<Record<Audience, Frame>> = {};

  constructor(kind: string, data: object, { id, seq, level, owner, access }: EventDetails = {}) {
    this.kind = kind;
    this.id = id;
    this.seq = seq;
    this.level = level;
    this.owner = owner;
    this.access = access;
    this.#data = { at: new Date().toISOString(), ...data };
  }

  /** How an audience sees it. */
  frame(audience: Audience): Frame {
    const isOfServer = OF_SERVERS.has(this.kind);
    const key = isOfServer ? audience : "viewer";
    const isBare = isOfServer && key === "viewer";
    return (this.#frames[key] ??= this.#render(isBare ? withoutTrouble(this.#data) : this.#data));
  }

  /** JSON text holds no line break, and kind and id are ours: nothing in the data can end the event early. */
  #render(facts: object): Frame {
    const { id, kind } = this;
    const data = JSON.stringify(facts);
    const start = kind === "hello" ? "retry: 2000\n" : "";
    return {
      text: `{${id === undefined ? "" : `"id":"${id}",`}"event":"${kind}","data":${data}}`,
      bytes: encoder.encode(start + sseFrame(data, kind, id)),
    };
  }
}
