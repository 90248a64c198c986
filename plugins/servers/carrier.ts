import { type Answer, type Call, type Era, type GatewayError, toGatewayError } from "propylon";
import type { Connection } from "./connection.ts";
import type { Exchange } from "./exchange.ts";
import type { OwnConnections } from "./own-connections.ts";
import type { Supervision } from "./supervision.ts";

/** Finds the connection for each call: the shared one, or one of its principal's. */
export class Carrier {
  readonly #supervision: Supervision;
  readonly #own: OwnConnections;
  #waiting = 0;

  constructor(supervision: Supervision, own: OwnConnections) {
    this.#supervision = supervision;
    this.#own = own;
  }

  /** Calls that have no outcome yet. */
  get inFlight(): number {
    return this.#supervision.inFlight + this.#own.inFlight + this.#waiting;
  }

  /** The connections that are open. */
  get connections(): readonly Connection[] {
    return [this.#supervision.connection ?? [], this.#own.open].flat();
  }

  /** Sends a call, at once where it can. */
  request(call: Call): Promise<Answer> {
    const { connection } = this.#supervision;
    if (!connection || this.#own.suits(call, connection)) return this.#later(call);
    return connection.call(call);
  }

  /** Sends once more what certainly did not run. Its outcome is that of the second sending. */
  async resend(exchange: Exchange, era: Era | undefined, error: GatewayError): Promise<void> {
    exchange.resent = true;
    try {
      const connection = await this.#connectionOf(exchange.call!);
      if (exchange.done) return;
      if (connection.handshake?.era === era) connection.send(exchange);
      else exchange.fail(error);
    } catch (thrown) {
      exchange.fail(toGatewayError(thrown));
    }
  }

  async #later(call: Call): Promise<Answer> {
    const connection = await this.#connectionOf(call);
    return connection.call(call);
  }

  async #connectionOf(call: Call): Promise<Connection> {
    this.#waiting++;
    try {
      const shared = await this.#supervision.whenConnected(call.signal);
      return this.#own.suits(call, shared) ? await this.#own.of(call, shared) : shared;
    } finally {
      this.#waiting--;
    }
  }
}
