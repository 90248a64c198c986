import { SpanKind, SpanStatusCode, type Attributes } from "@opentelemetry/api";
import {
  describeCall,
  describeHop,
  spanNameOf,
  type Described,
  type HopFacts,
} from "../attributes.ts";
import { SCOPE } from "../span.ts";
import {
  attributesText,
  nanosText,
  spanFlags,
  scopeText,
  type AttributeLimits,
} from "./otlp-text.ts";
import type { QueuedSpan } from "./span-queue.ts";

/** Where a span of a call is. */
export interface SpanPlace {
  readonly traceId: string;
  readonly spanId: string;
  /** `undefined` for a root. */
  readonly parentId: string | undefined;
  readonly isParentRemote: boolean;
  readonly tracestate: string | undefined;
}

/** What else a span of a call is made of. */
export interface SpanLook {
  readonly kind: SpanKind;
  /** For that of a hop. */
  readonly hop?: HopFacts;
  /** Arguments, where they are shown. */
  readonly args?: Attributes | undefined;
}

/** A call has fewer attributes than that. */
const MOST = 16;
const SCOPE_TEXT = scopeText({ name: SCOPE });
/** What a waiting span takes besides what others wrote, in bytes. */
const OWN_SIZE = 600;

/**
 * The span of a relayed call: what there is to tell, noted flat, and written when its batch is sent. It holds texts and not the call,
 * whose arguments may be megabytes.
 */
export class CallSpan implements QueuedSpan, Described {
  readonly scope = SCOPE_TEXT;
  readonly id: Described["id"];
  readonly method: Described["method"];
  readonly source: Described["source"];
  readonly endpoint: Described["endpoint"];
  readonly server: Described["server"];
  readonly name: Described["name"];
  readonly #traceId: string;
  readonly #spanId: string;
  readonly #parentId: string | undefined;
  readonly #isParentRemote: boolean;
  readonly #tracestate: string | undefined;
  readonly #kind: SpanKind;
  readonly #hop: HopFacts | undefined;
  readonly #args: Attributes | undefined;
  /** Milliseconds since 1970. */
  readonly #from = Date.now();
  #took = 0;
  #failure: Attributes | undefined;

  constructor(call: Described, place: SpanPlace, { kind, hop, args }: SpanLook) {
    this.id = call.id;
    this.method = call.method;
    this.source = call.source;
    this.endpoint = call.endpoint;
    this.server = call.server;
    this.name = call.name;
    this.#traceId = place.traceId;
    this.#spanId = place.spanId;
    this.#parentId = place.parentId;
    this.#isParentRemote = place.isParentRemote;
    this.#tracestate = place.tracestate;
    this.#kind = kind;
    this.#hop = hop;
    this.#args = args;
  }

  /** @param took milliseconds */
  end(took: number, failure: Attributes | undefined): void {
    this.#took = took;
    this.#failure = failure;
  }

  get size(): number {
    const args = this.#args?.["gen_ai.tool.call.arguments"];
    const written = typeof args === "string" ? args.length : 0;
    // UTF-8 takes up to 3 bytes for a character, and JSON up to 6 for one of a name, which stands there twice.
    return OWN_SIZE + 12 * this.name.length + 3 * (written + (this.#tracestate?.length ?? 0));
  }

  write(limits: AttributeLimits): string {
    const parent = this.#parentId === undefined ? "" : `,"parentSpanId":"${this.#parentId}"`;
    const state =
      this.#tracestate === undefined ? "" : `,"traceState":${JSON.stringify(this.#tracestate)}`;
    const from = nanosText(this.#from);
    const until = nanosText(this.#from + this.#took);
    return `{"traceId":"${this.#traceId}","spanId":"${this.#spanId}"${parent}${state},"name":${JSON.stringify(spanNameOf(this))},"kind":${this.#kind + 1},"startTimeUnixNano":"${from}","endTimeUnixNano":"${until}",${limited(this.#attributes(), limits)},"status":{"code":${this.#status()}},"flags":${spanFlags(1, this.#isParentRemote)}}`;
  }

  #attributes(): Attributes {
    const about = this.#hop ? describeHop(this, this.#hop) : describeCall(this);
    return { ...about, ...this.#args, ...this.#failure };
  }

  /** A client that cancels is not a fault of the operation: the conventions for RPC leave its status unset. */
  #status(): SpanStatusCode {
    const type = this.#failure?.["error.type"];
    return type === undefined || type === "cancelled" ? SpanStatusCode.UNSET : SpanStatusCode.ERROR;
  }
}

/** Attributes and how many were too many, as members of a span. */
function limited(attributes: Attributes, { count, length }: AttributeLimits): string {
  if (length === Infinity && count >= MOST) return `"attributes":${attributesText(attributes)}`;
  const all = Object.entries(attributes);
  const kept = all
    .slice(0, count)
    .map(([key, value]) => [key, typeof value === "string" ? value.slice(0, length) : value]);
  const text = attributesText(Object.fromEntries(kept) as Attributes);
  return `"attributes":${text},"droppedAttributesCount":${Math.max(0, all.length - count)}`;
}
