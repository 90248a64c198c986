import { PATIENCE } from "../../fixtures/ci.ts";
import { Agent, request } from "node:http";
import { writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { GatewayProcess, usePlace } from "../../e2e/gateway-process.ts";

const place = usePlace();
/** Many more in a campaign. */
const KILLS = Number(process.env["WORKER_KILLS"] ?? 2);
const RELOADS = Number(process.env["WORKER_RELOADS"] ?? 4);
/** Calls per second of all clients. */
const RATE = Number(process.env["WORKER_RATE"] ?? 100);
const CLIENTS = 8;

const PLUGIN = `
import { definePlugin } from "propylon";
import { z } from "zod";
export default definePlugin({
  name: "pid",
  config: z.strictObject({ word: z.string().default("one"), bad: z.number().optional() }),
  setup(gateway) {
    const { bad, word } = gateway.config;
    if (process.env.PROPYLON_WORKER === String(bad)) throw new Error("this worker cannot");
    gateway.tool("pid", {
      description: "Where it runs.",
      input: z.strictObject({}),
      run: () => JSON.stringify([process.pid, word]),
    });
  },
});
`;

interface Reply {
  readonly status: number;
  readonly session: string | undefined;
  readonly text: string;
}

/** Said for the page with the figures. */
const tell = (text: string): unknown => process.stderr.write(`${text}\n`);

/** What the primary answers for a worker that is gone. */
interface LostCall {
  readonly id: unknown;
  readonly error: { readonly code: number; readonly data: { readonly code: string } };
}

/** A client of one session with one connection at a time, which belongs to one worker as long as it is open. */
class Caller {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #session = "";
  #id = 0;
  /** Bytes of each connection that belong to answers. */
  readonly #read = new WeakMap<Socket, number>();
  /** Whether the connection of this call had brought something while nothing was asked, which Node.js throws away. */
  #isLate = false;
  /** The worker that answered last over this connection. */
  pid: number | undefined;
  word = "";
  done = 0;
  /** Calls that ended with their worker, by a code that says so. */
  coded = 0;
  /** Those of them that were sent after this client had thrown away the answer of the primary. */
  late = 0;
  readonly wrong: string[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  async open(): Promise<void> {
    const clientInfo = { name: "caller", version: "1" };
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    const { session } = await this.#post("initialize", params);
    this.#session = session!;
  }

  /** @param killed pids of workers that were killed */
  async call(killed: ReadonlySet<number>): Promise<void> {
    const { pid } = this;
    try {
      const { status, text } = await this.#post("tools/call", { name: "pid", arguments: {} });
      if (status === 503 && pid !== undefined && killed.has(pid)) return this.#end(text);
      const said = /"text":"\[(\d+),\\"(\w+)\\"\]"/.exec(text);
      if (status !== 200 || !said) return void this.wrong.push(`${status} ${text}`);
      this.pid = Number(said[1]);
      this.word = said[2]!;
      this.done++;
    } catch (error) {
      this.pid = undefined;
      const moment = this.#isLate ? "after" : "before";
      this.wrong.push(
        `worker ${pid}, killed: ${killed.has(pid!)}, ${moment} its 503: ${String(error)}`,
      );
    }
  }

  /** Its connection is closed with that. */
  #end(text: string): void {
    this.pid = undefined;
    const { id, error } = JSON.parse(text) as LostCall;
    if (id !== null || error.code !== -32000 || error.data.code !== "unavailable")
      return void this.wrong.push(text);
    this.coded++;
    if (this.#isLate) this.late++;
  }

  close(): void {
    this.#agent.destroy();
  }

  #post(method: string, params: object): Promise<Reply> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++this.#id, method, params });
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(this.#session !== "" && { "mcp-session-id": this.#session }),
    };
    return new Promise((resolve, reject) => {
      const options = { method: "POST", agent: this.#agent, headers, timeout: 10_000 };
      const sent = request(`${this.#url}/mcp`, options, (response) => {
        const { socket } = response;
        let text = "";
        response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
        response.once("error", reject).once("end", () => {
          const session = response.headers["mcp-session-id"] as string | undefined;
          this.#read.set(socket, socket.bytesRead);
          resolve({ status: response.statusCode!, session, text });
        });
      });
      sent.once("socket", (socket) => {
        this.#isLate = socket.bytesRead > (this.#read.get(socket) ?? 0);
      });
      sent.once("timeout", () => sent.destroy(new Error("No answer within 10 s.")));
      sent.once("error", reject).end(body);
    });
  }
}

/** Calls until it is stopped, each caller at its share of the rate. */
class Load {
  readonly callers: readonly Caller[];
  /** Pids of workers that were killed. */
  readonly killed = new Set<number>();
  #isOver = false;
  readonly #running: Promise<unknown>;

  private constructor(callers: readonly Caller[]) {
    this.callers = callers;
    this.#running = Promise.all(callers.map((caller) => this.#drive(caller)));
  }

  static async begin(url: string): Promise<Load> {
    const callers = Array.from({ length: CLIENTS }, () => new Caller(url));
    await Promise.all(callers.map((caller) => caller.open()));
    const load = new Load(callers);
    onTestFinished(() => load.end());
    return load;
  }

  sum(of: (caller: Caller) => number): number {
    return this.callers.reduce((sum, caller) => sum + of(caller), 0);
  }

  get wrong(): string[] {
    return this.callers.flatMap(({ wrong }) => wrong);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    for (const caller of this.callers) caller.close();
  }

  /** At its times, not after its answers: it is the rate that is given. */
  async #drive(caller: Caller): Promise<void> {
    const gap = (1_000 * CLIENTS) / RATE;
    for (let next = performance.now(); !this.#isOver; next += gap) {
      await pause(Math.max(0, next - performance.now()));
      await caller.call(this.killed);
    }
  }
}

/** A line for each call of a campaign is more than this process can hold. */
function forgetLines({ lines }: GatewayProcess): void {
  lines.splice(0, lines.length - 50);
}

async function start(): Promise<GatewayProcess> {
  await writeFile(join(place.folder, "pid.mjs"), PLUGIN);
  const gateway = await GatewayProcess.create(place, (port) => configOf(port, {}));
  gateway.start();
  await gateway.line("gateway ready");
  return gateway;
}

const configOf = (port: number, pid: object): object => ({
  listeners: { main: { port } },
  workers: 2,
  log: { level: "info", format: "json" },
  plugins: { "./pid.mjs": pid },
});

it(
  "kill -9 of a worker ends its own calls with a code, no other call, and no session",
  { timeout: PATIENCE * (KILLS * 60_000) },
  async () => {
    const gateway = await start();
    const load = await Load.begin(gateway.url);
    for (let kill = 0; kill < KILLS; kill++) {
      // A client that has not called since still names the worker that is gone.
      while (load.callers.some(({ pid }) => pid === undefined || load.killed.has(pid)))
        await pause(10);
      const pids = [...new Set(load.callers.map(({ pid }) => pid!))];
      const victim = pids[kill % pids.length]!;
      const isBack = gateway.line("a worker serves again");
      load.killed.add(victim);
      process.kill(victim, "SIGKILL");
      await isBack;
      const done = load.sum((caller) => caller.done);
      while (load.sum((caller) => caller.done) < done + CLIENTS) await pause(10);
      forgetLines(gateway);
    }
    await load.end();
    expect(load.wrong).toEqual([]);
    tell(
      `${KILLS} kills: ${load.sum(({ done }) => done)} calls, ${load.sum(({ coded }) => coded)} ended with a code, ${load.sum(({ late }) => late)} of them by a second answer`,
    );
    expect(load.sum(({ done }) => done)).toBeGreaterThan(KILLS * CLIENTS);
    expect(load.sum(({ coded }) => coded)).toBeLessThanOrEqual(2 * KILLS * CLIENTS);
  },
);

it(
  "reloads of all workers or none fail no call",
  { timeout: PATIENCE * (RELOADS * 30_000) },
  async () => {
    const gateway = await start();
    const port = Number(new URL(gateway.url).port);
    const load = await Load.begin(gateway.url);
    let inForce = "one";
    for (let reload = 0; reload < RELOADS; reload++) {
      const isBad = reload % 2 === 1;
      const word = `w${reload}`;
      const pid = { word, ...(isBad && { bad: 1 + (reload % 4 > 1 ? 1 : 0) }) };
      await writeFile(
        join(place.folder, `gateway-${port}.json`),
        JSON.stringify(configOf(port, pid)),
      );
      const told = gateway.line(isBad ? "was not applied" : "reloaded: plugin");
      gateway.signal("SIGHUP");
      await told;
      if (!isBad) inForce = word;
      // Those that were sent before may still be answered by the config of before.
      const done = load.callers.map((caller) => caller.done);
      while (load.callers.some((caller, at) => caller.done < done[at]! + 2)) await pause(10);
      expect(new Set(load.callers.map((caller) => caller.word))).toEqual(new Set([inForce]));
      forgetLines(gateway);
    }
    await load.end();
    expect(load.wrong).toEqual([]);
    expect(load.sum(({ coded }) => coded)).toBe(0);
    tell(`${RELOADS} reloads: ${load.sum(({ done }) => done)} calls, none failed`);
  },
);
