import { setTimeout } from "node:timers/promises";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { McpError } from "@modelcontextprotocol/sdk/types.js";
import { expect, it, onTestFinished } from "vitest";
import { connectClient } from "../../core/testing/index.ts";
import { useServer as startNats } from "../plugins/nats/kit.ts";
import { startServer as startPostgres } from "../plugins/postgres/kit.ts";
import { QUEUED_WORK, startCluster, useProjects, WORK, type Cluster } from "./cluster.ts";
import { storesOf } from "../fixtures/stores.ts";
import { PATIENCE } from "../fixtures/ci.ts";

/** A campaign does 10,000 calls and 2,000 tasks, and 30 minutes of kills. */
const CALLS = Number(process.env["CLUSTER_CALLS"] ?? 150);
const TASKS = Number(process.env["CLUSTER_TASKS"] ?? 30);
const SECONDS = Number(process.env["CLUSTER_SECONDS"] ?? 6);
const CLIENTS = Number(process.env["CLUSTER_CLIENTS"] ?? 6);
/** Each so often the next gateway is killed. */
const KILL_MS = 5_000;
/** An answer, or an error with a code, has to be there by then. */
const ANSWER_MS = 10_000;
/** A task has to end by then. */
const TASK_MS = 30_000;

const projects = useProjects();

/** Codes after which a client may try again. */
const RETRYABLE = new Set(["unavailable", "draining", "upstream_error", "timeout"]);

/** What came of everything. */
class Outcome {
  calls = 0;
  /** Calls that ended with a code after which a client may try again. */
  lost = 0;
  completed = 0;
  /** Tasks that ended with their gateway. */
  failed = 0;
  slowest = 0;
  kills = 0;
  /** Tasks that ended, as they were shown then, by their ids. */
  readonly ends = new Map<string, string>();
  /** Anything else, in words. */
  readonly wrong: string[] = [];
}

/** The code of an error, of MCP or of the envelope in an HTTP answer. */
function codeOf(error: unknown): string | undefined {
  if (error instanceof McpError && error.data !== undefined)
    return (error.data as { code?: string }).code;
  return /"code":\s*"(\w+)"/.exec(String(error))?.[1];
}

/** An error with what is behind it. */
function told(error: unknown): string {
  const { cause } = error as { cause?: Error };
  return cause ? `${String(error)} (${cause.message})` : String(error);
}

async function callTool(client: Client, text: string, outcome: Outcome): Promise<void> {
  const [tool, said] =
    Math.random() < 0.5
      ? [{ name: "work", arguments: { text } }, text]
      : [{ name: "greet", arguments: { name: text } }, `Hello, ${text}!`];
  const from = performance.now();
  try {
    const { content } = await client.callTool(tool, undefined, { timeout: ANSWER_MS });
    if ((content as { text: string }[])[0]?.text !== said)
      outcome.wrong.push(`${tool.name} ${text}: ${JSON.stringify(content)}`);
  } catch (error) {
    if (RETRYABLE.has(codeOf(error) ?? "")) outcome.lost++;
    else outcome.wrong.push(`${tool.name}: ${told(error)}`);
  }
  outcome.calls++;
  outcome.slowest = Math.max(outcome.slowest, performance.now() - from);
}

/** An A2A request; a code after which a client may try again is `undefined`. */
async function ask(
  { url, headers }: Cluster,
  path: string,
  body?: object,
): Promise<object | undefined> {
  const response = await fetch(`${url}${path}`, {
    method: body ? "POST" : "GET",
    headers: { ...headers, "A2A-Version": "1.0", "content-type": "application/json" },
    signal: AbortSignal.timeout(ANSWER_MS),
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.ok) return JSON.parse(text) as object;
  if (response.status === 502 || response.status === 503) return undefined;
  throw new Error(`${path}: ${response.status} ${text}`);
}

/** Starts a task and asks how it is until it has ended; what was not answered is sent again under the same id. */
async function doTask(cluster: Cluster, messageId: string, outcome: Outcome): Promise<void> {
  const message = { messageId, role: "ROLE_USER", parts: [{ text: messageId }] };
  const body = { message, configuration: { returnImmediately: true } };
  const until = performance.now() + TASK_MS;
  try {
    let task: Task | undefined;
    while (!task) {
      if (performance.now() > until) throw new Error(`${messageId} was not taken`);
      task = ((await ask(cluster, "/message:send", body)) as { task: Task } | undefined)?.task;
    }
    while (!/COMPLETED|FAILED/.test(task.status.state)) {
      if (performance.now() > until) throw new Error(`${task.id} is ${task.status.state}`);
      await setTimeout(100);
      task = ((await ask(cluster, `/tasks/${task.id}`)) as Task | undefined) ?? task;
    }
    outcome.ends.set(task.id, endOf(task));
    if (task.status.state.endsWith("FAILED")) outcome.failed++;
    else if (JSON.stringify(task.artifacts).includes(messageId)) outcome.completed++;
    else outcome.wrong.push(`${messageId}: ${JSON.stringify(task)}`);
  } catch (error) {
    outcome.wrong.push(`task: ${told(error)}`);
  }
}

/** The first end of a task is its end: reads each again. */
async function checkEnds(cluster: Cluster, outcome: Outcome): Promise<void> {
  for (const [id, end] of outcome.ends) {
    const task = (await ask(cluster, `/tasks/${id}`)) as Task;
    if (endOf(task) !== end) outcome.wrong.push(`${id}: ${end} became ${endOf(task)}`);
  }
}

const endOf = ({ status, artifacts }: Task): string => JSON.stringify([status, artifacts]);

interface Task {
  readonly id: string;
  readonly status: { readonly state: string };
  readonly artifacts?: object;
}

async function killInTurn({ gateways }: Cluster, outcome: Outcome, isOver: () => boolean) {
  while (!isOver()) {
    const next = setTimeout(KILL_MS);
    const gateway = gateways[outcome.kills++ % gateways.length]!;
    await gateway.end("SIGKILL");
    await gateway.start();
    await next;
  }
}

it.each(
  storesOf(
    ["NATS, which hands its tasks out", startNats, QUEUED_WORK],
    ["PostgreSQL", startPostgres, WORK],
    ["NATS", startNats, WORK],
  ),
)(
  "the project of --with cluster on %s: gateways are killed in turn, each call has an answer or a code, each task an end",
  { timeout: PATIENCE * (120_000 + SECONDS * 3_000) },
  async (_name, start, work) => {
    const { url } = await start();
    const cluster = await startCluster(projects, url, work);
    const outcome = new Outcome();
    const clients: Client[] = [];
    for (let each = 0; each < CLIENTS; each++)
      clients.push(await connectClient(`${cluster.url}/mcp`, { headers: cluster.headers }));
    onTestFinished(() => void Promise.allSettled(clients.map((client) => client.close())));
    const from = performance.now();
    let isStopped = false;
    onTestFinished(() => void (isStopped = true));
    const isOver = (): boolean =>
      isStopped ||
      (performance.now() - from > SECONDS * 1_000 &&
        outcome.calls >= CALLS &&
        outcome.completed + outcome.failed >= TASKS);
    const callers = clients.map(async (client, at) => {
      for (let round = 0; !isOver(); round++) await callTool(client, `${at}-${round}`, outcome);
    });
    const senders = Array.from({ length: CLIENTS }, async (_, at) => {
      for (let round = 0; !isOver(); round++) await doTask(cluster, `t${at}-${round}`, outcome);
    });
    await Promise.all([...callers, ...senders, killInTurn(cluster, outcome, isOver)]);
    await checkEnds(cluster, outcome);
    const { wrong, slowest, ends, ...counts } = outcome;
    process.stdout.write(`${JSON.stringify({ ...counts, slowest: Math.round(slowest) })}\n`);
    expect(wrong).toEqual([]);
    expect(slowest).toBeLessThan(ANSWER_MS);
    expect(counts.calls).toBeGreaterThanOrEqual(CALLS);
    // No more than the gateways had that were killed.
    expect(counts.lost).toBeLessThanOrEqual(counts.kills * CLIENTS);
    expect(counts.failed).toBeLessThanOrEqual(work === WORK ? counts.kills * CLIENTS : 0);
    expect(ends.size).toBe(counts.completed + counts.failed);
  },
);
