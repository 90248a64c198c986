import type { GatewayError, Json } from "propylon";
import { isObject } from "propylon/kit";
import type { Era } from "propylon/internal";
import type { Exchange } from "./exchange.ts";

/** The protocol revision a wire speaks; decides HTTP headers. */
export interface Dialect {
  readonly era: Era;
  readonly version: string;
}

/** What a server said about itself in the handshake. */
export interface Handshake extends Dialect {
  readonly capabilities: Json;
  readonly instructions: string | undefined;
  readonly serverInfo: Json | undefined;
}

/** Carries JSON-RPC messages to one server. Knows framing and headers, not what a message means. */
export interface Wire {
  readonly transport: "stdio" | "streamable-http" | "sse";
  /** Id of the session that a legacy server opened, where the transport has any. */
  readonly session?: string | undefined;
  /** Process id of a child. */
  readonly pid: number | undefined;
  /** From now on, requests are written in this dialect; `undefined` = none yet (before `initialize`). */
  speak(dialect: Dialect | undefined): void;
  /** Sends a request; its outcome reaches the exchange, or {@link WireReceiver.lost}. Never throws. */
  send(exchange: Exchange): void;
  /** Sends a notification or a response, best effort. Never throws. */
  post(message: string): void;
  /** Stops waiting for an exchange that nobody wants any more. */
  drop(exchange: Exchange): void;
  /**
   * Opens the stream for messages that belong to no request, where the transport has one. Resolves when the server has opened
   * or refused it, or soon after; never rejects.
   */
  listen(): Promise<void>;
  /** Ends it; waits for a child to be gone. */
  close(): Promise<void>;
}

/** What a wire reports to. */
export interface WireReceiver {
  /**
   * One message. `origin` is the request on whose own stream it came, if the transport tells.
   * The chunks may be kept.
   */
  receive(chunks: readonly Buffer[], length: number, origin: Exchange | undefined): void;
  /** The stream of messages that belong to no request is open again, after a gap in which some may have been lost. */
  missed(): void;
  /** A message above the limit was thrown away; `head` is its first bytes, `tail` its last. */
  oversize(head: Buffer, tail: Buffer, error: GatewayError): void;
  /**
   * The wire takes no more requests.
   * @param resend a request that certainly did not run and may go out once more
   * @param others what happens to the other requests in flight: `fail`, or `finish` on streams of their own
   */
  lost(error: GatewayError, others: "fail" | "finish", resend?: Exchange): void;
  /** A refusal says that the session is lost, and may have been meant for another request: it is asked for first. */
  doubted(error: GatewayError, exchange: Exchange): void;
}

/** Whether a server makes tasks of calls of tools that ask for it (2025-11-25). */
export function makesTasks({ era, capabilities: { tasks } }: Handshake): boolean {
  const requests = isObject(tasks) ? tasks["requests"] : undefined;
  const tools = isObject(requests) ? requests["tools"] : undefined;
  return era === "legacy" && isObject(tools) && isObject(tools["call"]);
}
