import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { SECRET_KEY } from "../../plugins/team-auth/gateway-kit.ts";

const GATEWAY = fileURLToPath(new URL("gateway.mjs", import.meta.url));

interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
  readonly took?: number;
}

/** Where a gateway has its tables. */
interface Place {
  readonly store: string;
  readonly schema: string;
  /** How far its clock is ahead, in milliseconds. */
  readonly skew?: number;
}

/** A gateway with team-auth in a process of its own. */
export class GatewayProcess {
  readonly #place: Place;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #child!: ChildProcess;
  #last = 0;
  url = "";

  /** How far its clock is ahead, in milliseconds. */
  get skew(): number {
    return this.#place.skew ?? 0;
  }

  private constructor(place: Place) {
    this.#place = place;
  }

  static async start(store: string, schema: string, skew = 0): Promise<GatewayProcess> {
    const gateway = new GatewayProcess({ store, schema, skew });
    await gateway.start();
    onTestFinished(() => gateway.kill());
    return gateway;
  }

  async start(): Promise<void> {
    this.#child = fork(GATEWAY, [JSON.stringify({ ...this.#place, secretKey: SECRET_KEY })], {
      execArgv: [],
    });
    const [{ url }] = (await once(this.#child, "message")) as [{ url: string }];
    this.url = url;
    this.#child.on("message", (reply: Reply) => {
      this.#waiting.get(reply.id)?.(reply);
      this.#waiting.delete(reply.id);
    });
  }

  /** Changes the tables there; resolves when that gateway has answered. */
  async change(
    table: string,
    method: string,
    ...args: unknown[]
  ): Promise<{ value: unknown; took: number }> {
    const id = ++this.#last;
    const reply = await new Promise<Reply>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#child.send({ id, table, method, args });
    });
    if (reply.error !== undefined) throw new Error(reply.error);
    return { value: reply.value, took: reply.took! };
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }

  /** Ends it as a deploy does. */
  stop(): Promise<void> {
    return this.#end("SIGTERM");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, "exit");
    this.#child.kill(signal);
    await exit;
  }
}

/** What a bearer sees at a gateway, or the status and message of its refusal. */
export async function ask(url: string, bearer: string): Promise<string> {
  const reply = await fetch(`${url}/sees`, { headers: { authorization: `Bearer ${bearer}` } });
  const body = (await reply.json()) as { error?: { message: string } };
  return reply.ok ? JSON.stringify(body) : `${reply.status} ${body.error?.message}`;
}
