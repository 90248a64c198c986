import type { Logger } from "pino";
import { GatewayError, toGatewayError } from "propylon";
import { type RingBuffer, type StdioChannel, spawnStdio } from "propylon/process";
import type { StdioServerConfig } from "../entry.ts";
import { Faults } from "./faults.ts";
import type { Exchange } from "./exchange.ts";
import type { Wire, WireReceiver } from "./wire.ts";

/** What a {@link StdioWire} is made of. */
export interface StdioWireOptions {
  readonly name: string;
  readonly config: StdioServerConfig;
  /** Directory that a relative `cwd` starts from. */
  readonly cwd: string;
  readonly log: Logger;
  readonly receiver: WireReceiver;
  /** Keeps what the child writes to stderr. */
  readonly stderr: RingBuffer | undefined;
  /** Kills the child when it aborts. */
  readonly kill: AbortSignal | undefined;
}

/** A child process as a wire: many requests on one pair of pipes. */
export class StdioWire implements Wire {
  readonly transport = "stdio";
  readonly #faults: Faults;
  readonly #limit: number;
  readonly #receiver: WireReceiver;
  #channel: StdioChannel | undefined;
  #closing = false;

  private constructor({ name, config, receiver }: StdioWireOptions) {
    this.#faults = new Faults(name);
    this.#limit = config.maxResult;
    this.#receiver = receiver;
  }

  /**
   * Starts the child.
   * @throws {GatewayError} `upstream_error` when it cannot be started
   */
  static async open(options: StdioWireOptions): Promise<StdioWire> {
    const { name, config, cwd, log, stderr, kill } = options;
    const link = new StdioWire(options);
    link.#channel = await spawnStdio({
      name,
      command: config.command,
      args: config.args,
      env: config.env,
      cwd,
      maxMessage: config.maxResult,
      log,
      kill,
      onMessage: (chunks, length) => link.#receiver.receive(chunks, length, undefined),
      onOversize: (head, _length, tail) => link.#onOversize(head, tail),
      onStderr: (chunk) => stderr?.append(chunk),
      onClose: (error) => link.#onClose(error),
    });
    return link;
  }

  get pid(): number | undefined {
    return this.#channel?.pid;
  }

  speak(): void {}

  listen(): Promise<void> {
    return Promise.resolve();
  }

  send(exchange: Exchange): void {
    try {
      this.#channel!.send(exchange.message);
    } catch (error) {
      this.#receiver.lost(toGatewayError(error), "fail", exchange);
    }
  }

  post(message: string): void {
    try {
      this.#channel!.send(message);
    } catch {
      // The channel has ended; onClose says so to everyone who waits.
    }
  }

  drop(): void {}

  async close(): Promise<void> {
    this.#closing = true;
    await this.#channel?.close();
  }

  #onOversize(head: Buffer, tail: Buffer): void {
    this.#receiver.oversize(head, tail, this.#faults.tooLarge(this.#limit));
  }

  #onClose(error: GatewayError): void {
    if (!this.#closing) this.#receiver.lost(error, "fail");
  }
}
