import { setTimeout as pause } from "node:timers/promises";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { expect, it, onTestFinished } from "vitest";
import { connectClient } from "../../core/testing/index.ts";
import { PATIENCE } from "../fixtures/ci.ts";
import { storesOf } from "../fixtures/stores.ts";
import { until } from "../kit/until.ts";
import { useServer as startNats } from "../plugins/nats/kit.ts";
import { startServer as startPostgres } from "../plugins/postgres/kit.ts";
import { startCluster, useProjects, type Cluster, type Gateway } from "./cluster.ts";

/** A campaign does 20 rounds at 300 calls a second, on both stores. */
const ROUNDS = Number(process.env["ROLLING_ROUNDS"] ?? 1);
const RATE = Number(process.env["ROLLING_RATE"] ?? 30);
const CLIENTS = Math.max(4, Math.ceil(RATE / 10));
/** An answer has to be there by then. */
const ANSWER_MS = 10_000;
/** Each so often something is switched. */
const SWITCH_MS = 100;
const SWITCHED = ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"];

const projects = useProjects();

type Form = "old" | "new";

/**
 * Counts calls in the store. The new version has a field more, of its own calls; and another form of what it writes to `forms`, which
 * the old one must not touch.
 */
const PLUGIN = `
import { definePlugin } from "propylon";
import { Store } from "propylon/store";
import { z } from "zod";
const form = process.env["FORM"] ?? "old";
const isNew = form === "new";
const known = z.object({ calls: z.number() });
const schema = isNew ? known.extend({ ofNew: z.number().default(0) }) : known;
export default definePlugin({
  name: "work",
  inject: { store: Store },
  setup(gateway) {
    const { store } = gateway.services;
    const counts = store.kv("counts", { schema });
    const forms = store.kv("forms", isNew ? { version: 2 } : {});
    gateway.tool("count", {
      description: "Counts.",
      input: z.object({ key: z.string() }),
      async run({ key }) {
        const there = await counts.get(key);
        const before = there?.value ?? { calls: 0 };
        const next = { ...before, calls: before.calls + 1 };
        if (isNew) next.ofNew = (before.ofNew ?? 0) + 1;
        const rev = await counts.update(key, next, there?.rev ?? 0);
        if (rev === undefined) throw new Error("Somebody else counts here.");
        await forms.put(key, form).catch((error) => {
          if (error.code !== "exists") throw error;
        });
        return form;
      },
    });
    gateway.tool("look", {
      description: "What is in the store, all of it.",
      input: z.object({ key: z.string() }),
      async run({ key }) {
        const all = [store.kv("counts"), store.kv("forms", { version: 2 })];
        return JSON.stringify(await Promise.all(all.map(async (kv) => (await kv.get(key))?.value)));
      },
    });
    for (const name of ${JSON.stringify(SWITCHED)})
      gateway.tool(name, { description: "Is switched.", run: () => name });
  },
});
`;

/** What came of everything. */
class Outcome {
  calls = 0;
  switches = 0;
  restarts = 0;
  slowest = 0;
  /** Whatever failed, in words. */
  readonly wrong: string[] = [];
}

/** A client with a session over all rounds; it alone counts under its key. */
class Caller {
  readonly #client: Client;
  readonly #outcome: Outcome;
  readonly key: string;
  /** Answers by the version that gave them. */
  readonly counted: Record<Form, number> = { old: 0, new: 0 };

  constructor(client: Client, key: string, outcome: Outcome) {
    this.#client = client;
    this.key = key;
    this.#outcome = outcome;
  }

  /** One in four counts. */
  async call(round: number): Promise<void> {
    if (round % 4 === 0) {
      const form = (await this.ask("count", { key: this.key })) as Form | undefined;
      if (form !== undefined) this.counted[form]++;
      return;
    }
    const name = `${this.key}-${round}`;
    const said = await this.ask("greet", { name });
    if (said !== undefined && said !== `Hello, ${name}!`) this.#outcome.wrong.push(said);
  }

  /** @returns what was said; `undefined` when it failed, which is told */
  async ask(name: string, args: Record<string, string>): Promise<string | undefined> {
    const from = performance.now();
    try {
      const options = { timeout: PATIENCE * ANSWER_MS };
      const answer = await this.#client.callTool({ name, arguments: args }, undefined, options);
      const [{ text }] = answer.content as [{ text: string }];
      if (answer.isError !== true) return text;
      this.#outcome.wrong.push(`${name}: ${text}`);
    } catch (error) {
      const { cause } = error as { cause?: Error };
      this.#outcome.wrong.push(`${name}: ${String(error)} ${cause?.message ?? ""}`);
    } finally {
      this.#outcome.calls++;
      this.#outcome.slowest = Math.max(this.#outcome.slowest, performance.now() - from);
    }
    return undefined;
  }
}

/** At its times, not after its answers: it is the rate that is given. */
async function drive(caller: Caller, isOver: () => boolean): Promise<void> {
  const gap = (1_000 * CLIENTS) / RATE;
  for (let round = 0, next = performance.now(); !isOver(); round++, next += gap) {
    await pause(Math.max(0, next - performance.now()));
    await caller.call(round);
  }
}

/** Switches tools through the balancer. @returns which are to be on */
async function switchTools(
  { url, headers }: Cluster,
  outcome: Outcome,
  isOver: () => boolean,
): Promise<ReadonlyMap<string, boolean>> {
  const wanted = new Map(SWITCHED.map((name) => [name, true]));
  for (let at = 0; !isOver(); at++) {
    // Odd, so that each is switched both ways.
    const name = SWITCHED[(at * 3) % SWITCHED.length]!;
    const enabled = !wanted.get(name)!;
    const path = `/_meta/servers/work/tools/${name}/${enabled ? "enable" : "disable"}`;
    try {
      const signal = AbortSignal.timeout(PATIENCE * ANSWER_MS);
      const response = await fetch(`${url}${path}`, { method: "POST", headers, signal });
      const text = await response.text();
      if (response.ok) wanted.set(name, enabled);
      else outcome.wrong.push(`${path}: ${response.status} ${text}`);
    } catch (error) {
      outcome.wrong.push(`${path}: ${String(error)}`);
    }
    outcome.switches++;
    await pause(SWITCH_MS);
  }
  return wanted;
}

async function switchesAt(gateway: Gateway, { headers }: Cluster): Promise<object> {
  const response = await fetch(`${gateway.url}/_meta/servers/work/tools`, { headers });
  const { tools } = (await response.json()) as { tools: { name: string; enabled: boolean }[] };
  const switched = tools.filter(({ name }) => SWITCHED.includes(name));
  return Object.fromEntries(switched.map(({ name, enabled }) => [name, enabled]));
}

/** Old to new in the first round, back in the second, and so on. */
async function roll({ gateways }: Cluster, outcome: Outcome): Promise<void> {
  for (let round = 0; round < ROUNDS; round++)
    for (const gateway of gateways) {
      const code = await gateway.end("SIGTERM");
      if (code !== 0) outcome.wrong.push(`a gateway ended with ${code}: ${gateway.log}`);
      await gateway.start({ FORM: round % 2 === 0 ? "new" : "old" });
      outcome.restarts++;
    }
}

it.each(storesOf(["PostgreSQL", startPostgres], ["NATS", startNats]))(
  "the project of --with cluster on %s: gateways become another version in turn, no call fails, no switch is lost",
  { timeout: PATIENCE * (120_000 + ROUNDS * 120_000) },
  async (_name, start) => {
    const { url } = await start();
    const cluster = await startCluster(projects, url, {
      plugin: PLUGIN,
      config: "  ./plugins/work.ts: {}\n  gating: {}\n  admin: {}\n",
    });
    const outcome = new Outcome();
    const callers: Caller[] = [];
    for (let each = 0; each < CLIENTS; each++) {
      const client = await connectClient(`${cluster.url}/mcp`, { headers: cluster.headers });
      onTestFinished(() => client.close());
      callers.push(new Caller(client, `c${each}`, outcome));
    }
    let isStopped = false;
    onTestFinished(() => void (isStopped = true));
    const isOver = (): boolean => isStopped;
    const driving = callers.map((caller) => drive(caller, isOver));
    const switching = switchTools(cluster, outcome, isOver);
    const from = performance.now();
    await roll(cluster, outcome);
    const seconds = (performance.now() - from) / 1_000;
    isStopped = true;
    await Promise.all(driving);
    const wanted = Object.fromEntries(await switching);
    const { wrong, slowest, ...counts } = outcome;
    const rate = Math.round(outcome.calls / seconds);
    const said = { ...counts, failed: wrong.length, seconds: Math.round(seconds), rate };
    process.stdout.write(`${JSON.stringify({ ...said, slowest: Math.round(slowest) })}\n`);
    expect(wrong.slice(0, 20)).toEqual([]);
    expect(counts.restarts).toBe(3 * ROUNDS);
    const matches = async (gateway: Gateway): Promise<boolean> =>
      JSON.stringify(await switchesAt(gateway, cluster)) === JSON.stringify(wanted);
    for (const gateway of cluster.gateways) await until(() => matches(gateway), 10_000);
    for (const caller of callers) {
      const { key, counted } = caller;
      const total = { calls: counted.old + counted.new, ofNew: counted.new };
      expect([key, JSON.parse((await caller.ask("look", { key }))!)]).toEqual([
        key,
        [total, "new"],
      ]);
    }
  },
);
