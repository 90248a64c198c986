import { randomBytes } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { jetstream } from "@nats-io/jetstream";
import { connect, headers as createHeaders, type NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../core/testing/index.ts";
import { main, workFolder } from "../../e2e/build.ts";
import { Mortal } from "../../e2e/queue-process.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { startModel } from "../../fixtures/model/model.mjs";
import { startNats } from "../../fixtures/nats/nats.mjs";
import { orphans, startCollector, type CollectedSpan } from "./collector.ts";
import { serveUpstream, tracesOf } from "./upstream.ts";
import { requireProgram } from "../../fixtures/programs.ts";

/** In every place where a credential can be: none may get into a span. */
const CANARY = "canary-credential";
const TASKS = 100;

let folder: string;

beforeAll(async () => {
  folder = await workFolder();
});

afterAll(() => rm(folder, { recursive: true }));

/** Starts a process of ours and waits until it says where it listens. */
async function launch(args: readonly string[], env: Record<string, string>): Promise<string> {
  const program = new Mortal(() => [main, ...args], env);
  program.start();
  onTestFinished(async () => void (await program.kill()));
  const line = JSON.parse(await program.line('"url":')) as {
    url?: string;
    endpoints?: readonly { url: string }[];
  };
  return new URL(line.url ?? line.endpoints![0]!.url).origin;
}

/** A runtime whose skill is an agent that calls a tool of a server elsewhere. */
async function writeRuntime(model: string, upstream: string): Promise<string> {
  const file = join(folder, "runtime.json");
  const config = {
    name: "runtime",
    listeners: { main: { port: 0 } },
    endpoints: { main: {} },
    log: { format: "json" },
    servers: { up: { url: upstream, headers: { authorization: `Bearer ${CANARY}` } } },
    plugins: {
      telemetry: {},
      agents: {
        providers: { scripted: { type: "openai-compatible", baseUrl: model, apiKey: CANARY } },
        model: "scripted/scripted",
        agents: { worker: { servers: ["up"] } },
      },
      // Whether there is room for all of them at a time is a matter of the machine.
      a2a: { listener: "main", tasks: { maxShare: 1 }, skills: [{ id: "work", agent: "worker" }] },
    },
  };
  await writeFile(file, JSON.stringify(config));
  return file;
}

/** Publishes a task the way a platform does; the sidecar knows nothing of us but the message. */
async function publish(nats: NatsConnection, id: string, traceparent?: string): Promise<void> {
  const headers = createHeaders();
  headers.set("authorization", `Bearer ${CANARY}`);
  if (traceparent !== undefined) headers.set("traceparent", traceparent);
  const message = { messageId: id, role: "user", parts: [{ text: "go" }] };
  await jetstream(nats).publish("agent.tasks.worker", JSON.stringify({ message }), { headers });
}

/** Trace ids of the results by task, as their messages carry them. */
function collectResults(nats: NatsConnection): Map<string, string> {
  const results = new Map<string, string>();
  nats.subscribe("agent.results.>", {
    callback: (_error, { subject, headers }) => {
      results.set(subject.slice("agent.results.".length), headers?.get("traceparent") ?? "");
    },
  });
  return results;
}

/** The whole way of a task, everything real and in processes of its own. */
async function startAll() {
  requireProgram("nats-server");
  const collector = await startCollector();
  const upstream = await serveUpstream();
  const model = await startModel({
    key: CANARY,
    script: ({ turn, tools }) =>
      turn === 0
        ? { calls: [{ name: tools.find(({ name }) => name.endsWith("t"))!.name, args: {} }] }
        : { text: "done" },
  });
  onTestFinished(() => model.close());
  const nats = await startNats(await freePort());
  onTestFinished(() => nats.stop());
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${CANARY}`,
    OTEL_BSP_SCHEDULE_DELAY: "100",
    OTEL_METRIC_EXPORT_INTERVAL: "500",
    NATS_URL: nats.url,
  };
  const runtime = await launch(["start", await writeRuntime(model.url, upstream.url)], env);
  const flags = ["--name", "worker", "--concurrency", String(TASKS), "--port", "0"];
  const sidecar = await launch(["sidecar", ...flags, "--runtime", runtime], env);
  const isReady = async (): Promise<boolean> => (await fetch(`${sidecar}/sidecar/ready`)).ok;
  await expect.poll(isReady).toBe(true);
  const connection = await connect({ servers: nats.url });
  onTestFinished(() => connection.close());
  return { collector, upstream, nats: connection, results: collectResults(connection) };
}

function byTrace(spans: readonly CollectedSpan[]): ReadonlyMap<string, CollectedSpan[]> {
  const traces = new Map<string, CollectedSpan[]>();
  for (const span of spans) {
    const trace = traces.get(span.traceId) ?? [];
    traces.set(span.traceId, trace);
    trace.push(span);
  }
  return traces;
}

const HISTOGRAMS = [
  "gen_ai.client.operation.duration",
  "gen_ai.client.token.usage",
  "mcp.client.operation.duration",
  "mcp.server.operation.duration",
];

/** Services and names from the first span of ours to the last. */
const WAY = [
  ["sidecar", "process agent.tasks.worker"],
  ["sidecar", "SendMessage"],
  ["runtime", "SendMessage"],
  ["runtime", "tools/call work"],
  ["runtime", "invoke_agent worker"],
  ["runtime", "tools/call t"],
  ["runtime", "tools/call t"],
];

it(
  "R010, R070: one trace goes from the publisher through sidecar, runtime, agent and MCP server back into the result, for a hundred tasks at a time",
  { timeout: PATIENCE * 60_000 },
  async () => {
    const { collector, upstream, nats, results } = await startAll();
    const publishers = Array.from({ length: TASKS }, (_, n) => ({
      id: `task-${n}`,
      traceId: randomBytes(16).toString("hex"),
      spanId: randomBytes(8).toString("hex"),
    }));
    await Promise.all(
      publishers.map(({ id, traceId, spanId }) => publish(nats, id, `00-${traceId}-${spanId}-01`)),
    );
    await expect.poll(() => results.size, { timeout: PATIENCE * 30_000 }).toBe(TASKS);
    // 10 spans each: the way, two requests to the model, and the result on its way out.
    await collector.until(() => collector.spans.length >= TASKS * 10);

    const traces = byTrace(collector.spans);
    expect(new Set(traces.keys())).toEqual(new Set(publishers.map(({ traceId }) => traceId)));
    expect(orphans(collector.spans, new Set(publishers.map(({ spanId }) => spanId)))).toEqual([]);
    for (const { id, traceId, spanId } of publishers) {
      const spans = traces.get(traceId)!;
      expect(spans.filter(({ parentSpanId }) => parentSpanId === spanId)).toHaveLength(1);
      expect(wayFrom(spanId, spans)).toEqual(WAY);
      expect(spans.filter(({ name }) => name === "chat scripted")).toHaveLength(2);
      expect(results.get(id)).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    }

    const hops = collector.spans.filter(({ name, kind }) => name === "tools/call t" && kind === 3);
    const sent = tracesOf(upstream);
    expect(sent.map(({ meta }) => meta)).toEqual(sent.map(({ header }) => header));
    expect(sent.map(({ header }) => String(header)).toSorted()).toEqual(
      hops.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`).toSorted(),
    );
    expect(collector.bodies.join("")).not.toContain(CANARY);

    const names = (): Set<string> =>
      new Set([...collector.histograms.values()].map(({ name }) => name));
    await collector.until(() => names().size >= HISTOGRAMS.length);
    expect([...names()].toSorted()).toEqual(HISTOGRAMS);

    // A task without trace context begins a trace of its own, with one root.
    await publish(nats, "alone");
    await expect.poll(() => results.get("alone")).toBeTruthy();
    const own = results.get("alone")!.split("-")[1]!;
    await collector.until(
      () => collector.spans.filter(({ traceId }) => traceId === own).length >= 10,
    );
    const spans = collector.spans.filter(({ traceId }) => traceId === own);
    expect(traces.has(own)).toBe(false);
    expect(spans.filter(({ parentSpanId }) => parentSpanId === "")).toHaveLength(1);
    expect(orphans(spans)).toEqual([]);
  },
);

/** The part of {@link WAY} below one span. */
function wayFrom(parent: string, spans: readonly CollectedSpan[]): string[][] {
  const names = new Set(WAY.map(([, name]) => name));
  const child = spans.find(({ parentSpanId, name }) => parentSpanId === parent && names.has(name));
  return child ? [[child.service, child.name], ...wayFrom(child.spanId, spans)] : [];
}
