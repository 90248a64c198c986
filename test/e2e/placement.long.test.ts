import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  ElicitRequestSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ServerStatus } from "propylon";
import { connectClient } from "../../core/testing/index.ts";
import { PATIENCE } from "../fixtures/ci.ts";
import { FaultProxy } from "../fixtures/faults/proxy.ts";
import { isAlive } from "../fixtures/processes.ts";
import { storesOf } from "../fixtures/stores.ts";
import { makeFolder } from "../kit/folder.ts";
import { until } from "../kit/until.ts";
import { useServer as startNats } from "../plugins/nats/kit.ts";
import { startServer as startPostgres } from "../plugins/postgres/kit.ts";
import { startFleet, type Program } from "./fleet.ts";

/** A campaign does more, and looks at the time. */
const ROUNDS = Number(process.env["PLACEMENT_ROUNDS"] ?? 1);
const LIMIT_MS = process.env["PLACEMENT_ROUNDS"] ? 3_000 : 30_000 * PATIENCE;

const COUNTER = fileURLToPath(new URL("../fixtures/upstreams/counter.mjs", import.meta.url));

const PLUGIN = `
import { definePlugin } from "propylon";
export default definePlugin({
  name: "look",
  setup(gateway) {
    gateway.route("GET", "/counter", { access: "public", mutates: false }, () =>
      gateway.info.servers.get("counter").status);
  },
});
`;

/** What a call of count says. */
interface Count {
  readonly count: number;
  readonly pid: number;
}

/** The processes of the server, of all gateways. */
class Children {
  readonly file: string;
  /** Most that ran at the same time. */
  most = 0;
  readonly #timer: NodeJS.Timeout;

  constructor() {
    const folder = makeFolder();
    this.file = join(folder, "counter.log");
    this.#timer = setInterval(() => (this.most = Math.max(this.most, this.running.length)), 10);
    onTestFinished(() => {
      clearInterval(this.#timer);
    });
  }

  /** Ids of those that did something. */
  which(what: string): number[] {
    return this.#lines(what).map(([, pid]) => Number(pid));
  }

  /** When one began, in milliseconds since 1970. */
  startedAt(pid: number): number {
    return Number(this.#lines("start").find(([, id]) => id === String(pid))![2]);
  }

  #lines(what: string): string[][] {
    const lines = text(this.file).split("\n");
    return lines.map((line) => line.split(" ")).filter(([each]) => each === what);
  }

  get running(): number[] {
    return this.which("start").filter((pid) => isAlive(pid));
  }
}

function text(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

async function start(stores: readonly string[]) {
  const children = new Children();
  const counter = {
    command: process.execPath,
    args: [COUNTER, children.file],
    placement: "one",
  };
  const fleet = await startFleet(PLUGIN, stores, {}, { counter });
  return { children, fleet };
}

async function open(program: Program, elicitation = {}): Promise<Client> {
  const client = await connectClient(program.url, { capabilities: { elicitation } });
  onTestFinished(() => client.close().catch(() => {}));
  return client;
}

async function statusOf({ origin }: Program): Promise<ServerStatus> {
  return (await (await fetch(`${origin}/counter`)).json()) as ServerStatus;
}

async function count(client: Client): Promise<Count> {
  const { content } = await client.callTool({ name: "count", arguments: {} });
  return JSON.parse((content as { text: string }[])[0]!.text) as Count;
}

/** The gateway that runs it, and the others. */
async function findHolder(fleet: readonly Program[]) {
  const up = fleet.filter(({ isUp }) => isUp);
  return until(async () => {
    const all = await Promise.all(up.map(statusOf));
    const isSettled = all.every(({ state }) => state === "ready");
    const at = all.findIndex(({ placement }) => placement?.here);
    const replica = all[at]?.placement?.replica;
    const isKnown = all.every(({ placement }) => placement?.replica === replica);
    if (!isSettled || at === -1 || !isKnown) return undefined;
    return { holder: up[at]!, others: up.filter((each) => each !== up[at]), status: all[at]! };
  }, 60_000);
}

/** Calls until it is answered by another process. @returns what it says, and when */
async function untilMoved(client: Client, from: number) {
  const next = await until(async () => {
    const said = await count(client).catch(() => undefined);
    return said && said.pid !== from ? said : undefined;
  }, 60_000);
  return { ...next, at: Date.now() };
}

/** How long each part of a move took, in milliseconds. */
class Move {
  /** Until another gateway held the lease. */
  readonly lease: number;
  /** Until the program had loaded itself, or what of it there is. */
  readonly load: number;
  /** Until a call was answered. */
  readonly answer: number;
  readonly all: number;

  constructor(killed: number, { placement }: ServerStatus, started: number, answered: number) {
    const held = Date.parse(placement!.since!);
    this.lease = held - killed;
    this.load = started - held;
    this.answer = answered - started;
    this.all = answered - killed;
  }
}

describe.each(storesOf(["NATS", startNats], ["PostgreSQL", startPostgres]))(
  "a server placed at one gateway, of %s",
  { timeout: 120_000 + ROUNDS * 30_000 },
  (_name, open_) => {
    it("is one process for all, and moves when its gateway is killed", async () => {
      const { url } = await open_();
      const { children, fleet } = await start([url, url, url]);
      const moves: Move[] = [];
      let clients = await Promise.all(fleet.map((each) => open(each)));
      for (let round = 0; round < ROUNDS; round++) {
        const { holder, others, status } = await findHolder(fleet);
        const said: Count[] = [];
        for (const client of [...clients, ...clients]) said.push(await count(client));
        const [first] = said as [Count];
        expect(said).toEqual(said.map((_, at) => ({ pid: first.pid, count: first.count + at })));
        expect(children.running).toEqual([first.pid]);
        const killed = Date.now();
        await holder.kill();
        const moved = await untilMoved(clients[fleet.indexOf(others[0]!)]!, first.pid);
        expect(moved.count).toBe(1);
        const after = await findHolder(fleet);
        moves.push(new Move(killed, after.status, children.startedAt(moved.pid), moved.at));
        expect(after.status.placement!.moves).toBe(status.placement!.moves + 1);
        await holder.start();
        clients = await Promise.all(
          fleet.map(async (each, at) => (each === holder ? open(each) : clients[at]!)),
        );
      }
      for (const { all, lease, load, answer } of moves)
        process.stdout.write(
          `moved after ${all} ms: lease ${lease}, load ${load}, answer ${answer}\n`,
        );
      expect(Math.max(...moves.map(({ all }) => all))).toBeLessThan(LIMIT_MS);
      expect(children.most).toBe(1);
    });
  },
);

describe("a server placed at one gateway", { timeout: 120_000 }, () => {
  it("tells and asks clients of the others, hears when they cancel, and moves before its gateway ends", async () => {
    const { url } = await startPostgres();
    const { children, fleet } = await start([url, url]);
    const { holder, others } = await findHolder(fleet);
    const [other] = others as [Program];
    const client = await open(other);

    // Questions.
    client.setRequestHandler(ElicitRequestSchema, () => ({
      action: "accept" as const,
      content: { name: "Ada" },
    }));
    const asked = await client.callTool({ name: "ask", arguments: {} });
    expect(asked.content).toEqual([{ type: "text", text: '{"name":"Ada"}' }]);

    // Progress and cancellation.
    const end = new AbortController();
    const reports: number[] = [];
    const waited = client.callTool({ name: "wait", arguments: {} }, undefined, {
      signal: end.signal,
      onprogress: ({ progress }) => {
        reports.push(progress);
        if (reports.length === 3) end.abort("enough");
      },
    });
    await expect(waited).rejects.toThrow("enough");
    expect(reports).toEqual(reports.toSorted((left, right) => left - right));
    await until(() => children.which("cancelled").length === 1);

    // Lists.
    const changed = new Promise((resolve) =>
      client.setNotificationHandler(ToolListChangedNotificationSchema, resolve),
    );
    await client.callTool({ name: "grow", arguments: {} });
    await changed;
    await until(async () =>
      (await client.listTools()).tools.some(({ name }) => /tool-\d/.test(name)),
    );

    // A planned stop, while calls go on.
    const before = await count(client);
    const pids = new Set([before.pid]);
    const over = new AbortController();
    const failed: unknown[] = [];
    const calls = (async () => {
      while (!over.signal.aborted)
        await count(client).then(
          ({ pid }) => pids.add(pid),
          (error: unknown) => failed.push(error),
        );
    })();
    await holder.end("SIGTERM");
    expect((await statusOf(other)).placement).toMatchObject({ here: true });
    await until(() => pids.size === 2);
    over.abort();
    await calls;
    expect(failed).toEqual([]);
    expect(children.most).toBe(1);
  });

  it("is killed by a gateway that is cut off from the store, before another one starts it", async () => {
    const store = await startPostgres();
    const proxies = [await FaultProxy.start(store.port), await FaultProxy.start(store.port)];
    onTestFinished(() => void Promise.all(proxies.map((proxy) => proxy.close())));
    const stores = proxies.map(({ port }) => store.url.replace(`:${store.port}`, `:${port}`));
    const { children, fleet } = await start(stores);
    const { holder, others } = await findHolder(fleet);
    const [near, far] = [await open(holder), await open(others[0]!)];
    const { pid } = await count(near);
    proxies[fleet.indexOf(holder)]!.partition();
    const { pid: next } = await untilMoved(far, pid);
    expect(children.running).toEqual([next]);
    proxies[fleet.indexOf(holder)]!.heal();
    expect((await untilMoved(near, pid)).pid).toBe(next);
    expect(children.most).toBe(1);
    // One that was stopped with SIGSTOP has its child still when it goes on, and gives it no call.
    const stopped = others[0]!;
    stopped.send("SIGSTOP");
    const third = await untilMoved(near, next);
    stopped.send("SIGCONT");
    expect((await untilMoved(far, next)).pid).toBe(third.pid);
    await until(() => children.running.length === 1);
  });
});
