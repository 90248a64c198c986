import type { JetStreamClient, JetStreamManager } from "@nats-io/jetstream";
import type { MsgHdrs, NatsConnection } from "@nats-io/transport-node";
import type { GatewayError } from "propylon";
import type { BackoffPolicy } from "propylon/kit";
import type { NatsSettings } from "../settings.ts";

/** A connection as streams are looked after with it. @example const { manager }: Jetstream = jetstream; */
export interface Jetstream {
  readonly connection: NatsConnection;
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
}

/** A connection with what is used of it. @example const { connection }: Opened = opened; */
export interface Opened extends Jetstream {
  readonly createHeaders: () => MsgHdrs;
  readonly createInbox: () => string;
}

/** Where a link tells what happens to it. @example const log: LinkLog = gateway.log; */
export interface LinkLog {
  info(data: object, message: string): void;
  warn(data: object, message: string): void;
  error(data: object, message: string): void;
}

/**
 * How a connection is.
 *
 * @example const { isConnected, reason }: LinkStatus = link.status;
 */
export interface LinkStatus {
  readonly isConnected: boolean;
  /** Why not, or why nothing is stored although it is connected, as a sentence; absent while all is well. */
  readonly reason?: string;
  /** Address and version of the server, without credentials. */
  readonly server?: string;
  /** Set when waiting does not help: a stream or consumer is not as it must be. */
  readonly fault?: GatewayError;
}

/**
 * What a connection is for.
 *
 * @example const options: LinkOptions = { nats, name: "propylon-sidecar coder", lacking: "no queue", retry: { initial: 500, max: 10_000 } };
 */
export interface LinkOptions {
  readonly nats: NatsSettings;
  /** What the server calls it. */
  readonly name: string;
  /** What there is not while it is not there, for the log. */
  readonly lacking: string;
  /** Pauses between two attempts to connect. */
  readonly retry: BackoffPolicy;
  /**
   * So often the client itself tries each server again. Behind that we connect again, with what files and addresses say by then,
   * and hear why it fails, which the client keeps to itself. 0: at once, and what the client had still to say is dropped.
   */
  readonly reconnects: number;
  /** Pause between two pings, in milliseconds: a connection is over when two are not answered. */
  readonly ping: number;
}

/**
 * What follows from what happens.
 *
 * @example const followers: Followers = { provide, opened, interrupted() {}, forbidden() {} };
 */
export interface Followers {
  /** Sees to it that streams are as they must be; tried again until it does not throw. */
  readonly provide: (jetstream: Jetstream) => Promise<void>;
  readonly opened: (opened: Opened) => void;
  /** Whatever the server was asked for is forgotten. */
  readonly interrupted: () => void;
  /** NATS does not let this user do something that we did. */
  readonly forbidden: (error: GatewayError) => void;
}
