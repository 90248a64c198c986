import { type Answer, type Call, type GatewayError, type Json, toGatewayError } from "propylon";
import { amendCall, timeoutSignal, within } from "propylon/kit";
import type { Era } from "propylon/internal";
import type { Connection } from "../connection/connection.ts";
import type { Exchange } from "../wire/exchange.ts";
import type { OwnConnections } from "./own-connections.ts";
import { idOfLegacyTask, idOfTask, ServerTask, type TaskLink } from "../connection/server-task.ts";
import type { Supervision } from "./supervision.ts";
import { unlessAborted } from "../wire/unless-aborted.ts";

/** How long a server may take to tell of a task, in milliseconds. */
const TASK_MS = 30_000;

/** Finds the connection for each call: the shared one, or one of its principal's. */
export class Carrier {
  readonly #supervision: Supervision;
  readonly #own: OwnConnections;
  readonly #identify: ((call: Call) => Promise<Call>) | undefined;
  readonly #followed = new Set<Promise<unknown>>();
  #waiting = 0;

  /** @param identify puts on a call who makes it; absent: the server is not told */
  constructor(
    supervision: Supervision,
    own: OwnConnections,
    identify: ((call: Call) => Promise<Call>) | undefined,
  ) {
    this.#supervision = supervision;
    this.#own = own;
    this.#identify = identify;
  }

  /** Calls that have no outcome yet. */
  get inFlight(): number {
    const sent = this.#supervision.inFlight + this.#own.inFlight;
    return sent + this.#waiting + this.#followed.size;
  }

  /** The connections that are open. */
  get connections(): readonly Connection[] {
    return [this.#supervision.connection ?? [], this.#own.open].flat();
  }

  /** Sends a call, at once where it can. */
  request(call: Call): Promise<Answer> {
    if (!this.#identify) return this.#carry(call);
    return this.#identify(call).then((identified) => this.#carry(identified));
  }

  #carry(call: Call): Promise<Answer> {
    if (this.#own.isPersonal) {
      const own = this.#own.at(call);
      return own ? this.#send(own, call) : this.#later(call);
    }
    const { connection } = this.#supervision;
    if (!connection || this.#own.suits(call, connection)) return this.#later(call);
    return this.#send(connection, call);
  }

  /** Calls a tool for the gateway itself. */
  async ask(tool: string, args: Json, signal: AbortSignal): Promise<Answer> {
    const supervision = this.#supervision;
    const { state } = supervision.status;
    // The next attempt may be minutes away.
    if (state === "backoff" || state === "failed")
      await unlessAborted(supervision.reconnect(), signal);
    const connection = await supervision.whenConnected(signal);
    try {
      return await askOn(connection, tool, args, signal);
    } catch (error) {
      // One that was restarted does not know the previous session.
      const isStill = connection === supervision.connection;
      if (isStill || signal.aborted || toGatewayError(error).code !== "upstream_error") throw error;
      return askOn(await supervision.whenConnected(signal), tool, args, signal);
    }
  }

  /** Waits for a task that the server began for a call. */
  resume(call: Call, task: string): Promise<Answer> {
    return this.#follow(call, task);
  }

  /** Waits for the tasks that are followed, at most `graceMs` milliseconds. */
  async drained(graceMs: number): Promise<void> {
    if (this.#followed.size > 0) await within(Promise.allSettled(this.#followed), graceMs);
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
    return this.#send(await this.#connectionOf(call), call);
  }

  /** Only servers that declare tasks cost their calls another turn. */
  #send(connection: Connection, call: Call): Promise<Answer> {
    const answer = connection.call(call);
    if (!connection.mayBegin(call)) return answer;
    const idOf = connection.makesTasks ? idOfLegacyTask : idOfTask;
    return answer.then((first) => {
      const id = idOf(call, first);
      return id === undefined ? first : this.#begun(call, id, first.result);
    });
  }

  async #begun(call: Call, id: string, seed: Json | undefined): Promise<Answer> {
    await call.peer.keepTask?.(id);
    return this.#follow(call, id, seed);
  }

  async #follow(call: Call, id: string, seed?: Json): Promise<Answer> {
    const link: TaskLink = {
      isLegacy: false,
      ask: async (method, params) => {
        const { connection, told } = await this.#connect(call);
        link.isLegacy = connection.makesTasks;
        const name = String(params["taskId"]);
        return connection.request(method, params, { timeout: TASK_MS, call: told, name });
      },
      result: async () => (await this.#connectionOf(call)).result(call, id),
    };
    const followed = new ServerTask(call, id, link).follow(seed);
    this.#followed.add(followed);
    try {
      return await followed;
    } finally {
      this.#followed.delete(followed);
    }
  }

  /**
   * The connection that a call would take now, for what is asked about its task. A call that was aborted still cancels its task; and
   * what told the server who makes it is soon too old.
   */
  async #connect(call: Call): Promise<{ readonly connection: Connection; readonly told: Call }> {
    const asking = amendCall(call, { signal: timeoutSignal(TASK_MS) });
    const told = this.#identify ? await this.#identify(asking) : asking;
    return { connection: await this.#connectionOf(told), told };
  }

  async #connectionOf(call: Call): Promise<Connection> {
    this.#waiting++;
    try {
      if (this.#own.isSecret) return await this.#own.of(call, undefined);
      const shared = await this.#supervision.whenConnected(call.signal);
      if (this.#own.isPersonal) return await this.#own.of(call, undefined);
      return this.#own.suits(call, shared) ? await this.#own.of(call, shared) : shared;
    } finally {
      this.#waiting--;
    }
  }
}

function askOn(
  connection: Connection,
  tool: string,
  args: Json,
  signal: AbortSignal,
): Promise<Answer> {
  const params = { name: tool, arguments: args };
  return connection.request("tools/call", params, { signal, name: tool });
}
