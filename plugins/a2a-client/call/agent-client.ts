import type { Json } from "propylon";
import type { Message, StreamEvent, Task } from "propylon/contract";

/** What an agent tells of a task; or its whole answer, when it made none. */
export type RemoteEvent = StreamEvent | { readonly message: Message };

/** What goes with a request. */
export interface RequestContext {
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Trace context: `traceparent`, `tracestate`, `baggage`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A message on its way out. */
export interface OutgoingMessage {
  readonly message: Message;
  /** Metadata of the request around the message. */
  readonly metadata?: Json | undefined;
}

/** Tasks that outlive the connection they were made on. */
export interface RemoteTasks {
  /** Events of a task from now on; the first one holds the whole task. */
  subscribe(id: string, context: RequestContext): AsyncIterable<RemoteEvent>;
  get(id: string, context: RequestContext): Promise<Task>;
  cancel(id: string, context: RequestContext): Promise<void>;
}

/**
 * One agent in its dialect, in the words of contract v1. Everything throws {@link Refusal} when the agent says no, and a GatewayError
 * `upstream_error` or `result_too_large` when nothing useful came.
 */
export interface AgentClient {
  /** Whether tasks are told of while they run. */
  readonly streams: boolean;
  /** Absent in contract v1, where a task ends with its connection. */
  readonly tasks?: RemoteTasks;
  send(outgoing: OutgoingMessage, context: RequestContext): AsyncIterable<RemoteEvent>;
}
