import { Process } from "../process.mjs";

/** Agents that run while the others are started and asked about. */
const RUNNING = 50;
const STARTS = 200;
const IDS = 1_000;
/** Agents that ended with a payload of a megabyte each. */
const LARGE = 50;
const PAYLOAD = "The agent looked at the file and found nothing of interest. ".repeat(17_500);

/**
 * Latency of `agent_start`, 200 at once, and of `agent_status` of 1,000 agents, with 50 agents running and 50 MB of payloads
 * stored; and how late the event loop was meanwhile (A044-A046).
 */
export async function lifecycle(bench) {
  const model = await Process.start("targets/model.mjs", { core: 1 });
  const gateway = await bench.gateway({
    agents: { worker: { limits: { turns: 100_000, toolCalls: 100_000 } } },
    plugins: {
      agents: {
        providers: {
          bench: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${model.port}/v1` },
        },
        model: "bench/model",
      },
      payloads: {},
      lifecycle: { concurrency: 10_000, waiting: 10_000 },
    },
  });
  const desk = new Desk(gateway.port);
  const ids = await furnish(desk);
  const samples = await bench.interleave("lifecycle", {
    [`agent_start, ${STARTS} at once`]: () => starts(bench, gateway, desk),
    [`agent_status of ${IDS}`]: () => statuses(bench, gateway, ids),
  });
  for (const [name, list] of [
    ["agent_start", samples[`agent_start, ${STARTS} at once`]],
    ["agent_status", samples[`agent_status of ${IDS}`]],
  ]) {
    bench.figure(
      `${name}_p99_ms`,
      list.map(({ p99 }) => p99),
    );
    bench.figure(
      `${name}_loop_p99_ms`,
      list.map(({ lag }) => lag),
    );
  }
  await bench.release([gateway, model]);
}

/** What was there before: agents that ended, some with large payloads, and some that run. Returns the ids of a thousand. */
async function furnish(desk) {
  const ids = [];
  for (let index = 0; index < IDS; index++) {
    const isRunning = index < RUNNING;
    const id = await desk.start(isRunning);
    ids.push(id);
    if (isRunning) continue;
    const payload = index < RUNNING + LARGE ? PAYLOAD : "done";
    await desk.post(`/${id}/complete`, { summary: "All of it is done, as was agreed.", payload });
  }
  return ids;
}

async function starts(bench, gateway, desk) {
  const before = new Set(await desk.running());
  const sample = await measure(bench, gateway, { call: "agentStart", connections: STARTS }, STARTS);
  // As before for whatever is measured next: with the request in flight ends the last of what they do.
  const added = (await desk.running()).filter((id) => !before.has(id));
  if (added.length !== STARTS) throw new Error(`${added.length} agents run that were started`);
  for (const id of added) await desk.post(`/${id}/stop`, {});
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  return sample;
}

function statuses(bench, gateway, ids) {
  const calls = bench.options.quick ? 100 : 300;
  return measure(bench, gateway, { call: "agentStatus", connections: 1, ids }, calls);
}

async function measure(bench, gateway, wanted, calls) {
  await bench.load("prepare", { port: gateway.port, path: "/mcp", dialect: "legacy", ...wanted });
  await gateway.ask({ loop: "start" });
  const before = gateway.cpu();
  const { count, p50, p99 } = await bench.load("count", { calls });
  const cpu = (gateway.cpu() - before) / count;
  const { p99: lag } = await gateway.ask({ loop: "read" });
  await bench.load("finish");
  return { p50, p99, lag, cpu, rss: gateway.rss() };
}

/** The REST face. */
class Desk {
  #url;

  constructor(port) {
    this.#url = `http://127.0.0.1:${port}/api/agents`;
  }

  async start(start) {
    return (await this.post("", { contract: "Work until you are stopped.", start })).agent_id;
  }

  async post(path, body) {
    const response = await fetch(this.#url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`POST ${path} answered ${await response.text()}`);
    return response.json();
  }

  async running() {
    const response = await fetch(`${this.#url}?status=running&limit=10000`);
    return (await response.json()).agents.map(({ agent_id }) => agent_id);
  }
}
