import { join } from "node:path";
import { jetstream, jetstreamManager, type JetStreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { taskSchema, textOf, type Task } from "propylon/contract";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../core/testing/index.ts";
import { startModel } from "../fixtures/model/model.mjs";
import type { ModelServer } from "../fixtures/model/types.ts";
import { startNats } from "../fixtures/nats/nats.mjs";
import { startServer } from "../plugins/postgres/kit.ts";
import { requireProgram } from "../fixtures/programs.ts";
import { storesOf } from "../fixtures/stores.ts";
import { until } from "../kit/until.ts";
import { GatewayProcess, usePlace, workerOf } from "./gateway-process.ts";
import { PATIENCE } from "../fixtures/ci.ts";

/** Questions that are asked and answered; each third answer meets a gateway that dies with it. */
const RUNS = Number(process.env["ANSWER_RUNS"] ?? 3);
/** Gateways on one store. */
const COUNTS = RUNS > 3 ? [1, 2, 3] : [2];

/** Where they keep it; NATS is that of the queue. */
const OPENED = storesOf(
  ["NATS", COUNTS, async () => undefined],
  ["PostgreSQL", COUNTS, async () => (await startServer()).url],
  ["SQLite", [1], async () => `sqlite:${join(place.folder, "one.db")}`],
).flatMap(([name, counts, open]) => counts.map((count) => ({ name, open, count })));

/** Longest wait for one step, in milliseconds. */
const LIMIT = 60_000;

const place = usePlace();

/** The last request that told the model of a run. */
function toldOf({ requests }: ModelServer, run: number): string {
  const texts = requests.map(({ body }) => JSON.stringify(body["messages"]));
  return texts.findLast((text) => text.includes(`database ${run}?`)) ?? "";
}

/** A queue, and gateways on one store that each are a runtime with a sidecar. */
class Stage {
  readonly model: ModelServer;
  readonly gateways: readonly GatewayProcess[];
  readonly #connection: NatsConnection;
  readonly #manager: JetStreamManager;

  constructor(
    model: ModelServer,
    gateways: readonly GatewayProcess[],
    connection: NatsConnection,
    manager: JetStreamManager,
  ) {
    this.model = model;
    this.gateways = gateways;
    this.#connection = connection;
    this.#manager = manager;
  }

  async publish(task: string, messageId: string, text: string): Promise<void> {
    const message = { messageId, taskId: task, role: "user", parts: [{ text }] };
    await jetstream(this.#connection).publish("agent.tasks.worker", JSON.stringify({ message }));
  }

  /** Resolves with the task's result when it is in this state. */
  async result(task: string, wanted: (task: Task) => boolean): Promise<Task> {
    let last: Task | undefined;
    const look = async (): Promise<boolean> => {
      const query = { last_by_subj: `agent.results.${task}` };
      const stored = await this.#manager.streams
        .getMessage("AGENT_RESULTS", query)
        .catch(() => null);
      last = stored ? taskSchema.parse(stored.json()) : undefined;
      return last !== undefined && wanted(last);
    };
    await until(look, LIMIT);
    return last!;
  }
}

/** @param store default: the NATS server of the queue */
async function setUp(count: number, store?: string): Promise<Stage> {
  const model = await startModel({
    script: ({ text, turn }) => {
      const [, run] = /^Delete database (\d+)\.$/.exec(text) ?? [];
      if (run === undefined || turn > 0) return { text: `Understood: ${text}` };
      return {
        calls: [{ name: "ask_user", args: { question: `Really delete database ${run}?` } }],
      };
    },
  });
  onTestFinished(() => model.close());
  const nats = await startNats(await freePort());
  onTestFinished(() => nats.stop());
  const gateways: GatewayProcess[] = [];
  for (let at = 0; at < count; at++) {
    const gateway = await GatewayProcess.create(place, (port) =>
      configOf(port, nats.url, model.url, store ?? nats.url),
    );
    gateway.start();
    gateways.push(gateway);
  }
  const connection = await connect({ servers: nats.url });
  onTestFinished(() => connection.close());
  const manager = await jetstreamManager(connection);
  const isThere = (): Promise<boolean> =>
    manager.consumers.info("AGENT_TASKS", "worker").then(
      () => true,
      () => false,
    );
  await until(isThere, LIMIT);
  return new Stage(model, gateways, connection, manager);
}

function configOf(port: number, nats: string, model: string, store: string): object {
  return {
    store,
    listeners: { main: { port } },
    log: { format: "json" },
    plugins: {
      agents: workerOf(model),
      a2a: { listener: "main", path: "/a2a", skills: [{ id: "work", agent: "worker" }] },
      sidecar: {
        name: "worker",
        runtime: { url: `http://127.0.0.1:${port}`, interval: "200ms" },
        nats: { url: nats },
        ackWait: "900ms",
        backoff: { initial: "50ms", max: "400ms" },
        maxDeliver: 8,
        timeout: "20s",
      },
    },
  };
}

/** @returns what the task came to, and all that the model was told last */
async function askAndAnswer(stage: Stage, run: number): Promise<{ end: string; told: string }> {
  const task = `t-${run}`;
  const victim = stage.gateways[run % stage.gateways.length]!;
  await stage.publish(task, `q-${run}`, `Delete database ${run}.`);
  await stage.result(task, ({ status }) => status.state === "input-required");
  if (run % 3 === 0) await victim.restart();
  await stage.publish(task, `a-${run}`, "No.");
  if (run % 3 === 1) await victim.restart();
  if (run % 3 === 2) {
    await until(() => toldOf(stage.model, run).includes("No."), LIMIT);
    await victim.restart();
  }
  const done = await stage.result(task, ({ status }) => status.state !== "input-required");
  const words = textOf((done.artifacts ?? []).flatMap(({ parts }) => parts));
  return { end: `${done.status.state}: ${words}`, told: toldOf(stage.model, run) };
}

/** How each run ended, and what of the conversation the model was not told. */
async function runAll(count: number, store?: string): Promise<string[]> {
  const stage = await setUp(count, store);
  const wrong: string[] = [];
  for (let run = 0; run < RUNS; run++) {
    const { end, told } = await askAndAnswer(stage, run);
    const said = [`Delete database ${run}.`, `Really delete database ${run}?`, "No."];
    const unsaid = said.filter((text) => !told.includes(text));
    if (end !== "completed: Understood: No." || unsaid.length > 0)
      wrong.push(`${run}: ${end}; not told: ${unsaid.join(" ")}`);
  }
  return wrong;
}

beforeEach((context) => requireProgram("nats-server", context));

describe("an answer through the queue meets its question, and the model sees all that was said", () => {
  it.each(OPENED)(
    "over kill -9 of one of $count gateways, with $name",
    { timeout: PATIENCE * (120_000 + RUNS * 20_000) },
    async ({ count, open }) => {
      expect(await runAll(count, await open())).toEqual([]);
    },
  );

  it("or fails and says why, with a store that keeps nothing", async () => {
    const stage = await setUp(1, "memory");
    await stage.publish("t-0", "q-0", "Delete database 0.");
    await stage.result("t-0", ({ status }) => status.state === "input-required");
    await stage.gateways[0]!.restart();
    const asked = stage.model.requests.length;
    await stage.publish("t-0", "a-0", "No.");
    const done = await stage.result("t-0", ({ status }) => status.state !== "input-required");
    expect(done.status.state).toBe("failed");
    expect(textOf(done.status.message?.parts ?? [])).toBe(
      "Nothing is left of the task that this message answers, so it cannot go on.",
    );
    expect(stage.model.requests).toHaveLength(asked);
  });
});
