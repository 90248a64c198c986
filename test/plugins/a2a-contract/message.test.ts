import { definePlugin, type Call } from "../../../core/index.ts";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Client } from "undici";
import {
  agentCardSchema,
  manifestSchema,
  taskSchema,
  textOf,
  type Task,
} from "../../../plugins/a2a/contract/index.ts";
import { createPrincipal } from "../../../core/kit.ts";
import { freePort, setupGateway } from "../../../core/testing/index.ts";
import a2a from "../../../plugins/a2a/index.ts";
import agents from "../../../plugins/agents/index.ts";
import telemetry from "../../../plugins/telemetry/index.ts";
import { makeFolder } from "../../kit/folder.ts";
import { startRuntime } from "../a2a/kit.ts";
import { eventsIn, messageOf, post, send, startScripted } from "./kit.ts";

const words = ({ artifacts = [] }: Task): string => textOf(artifacts.flatMap(({ parts }) => parts));

/** Who sends without credentials where none are needed. */
const ANYONE = createPrincipal({ id: "anonymous", kind: "anonymous", roles: new Set() });

describe("a message of contract v1", () => {
  it("R016, R019-R024, R063-R065: the sample of the contract is answered with its completed task", async () => {
    const { url } = await startScripted();
    const sample = {
      message: {
        messageId: "msg-abc123",
        role: "user",
        parts: [{ text: "Implement feature X" }],
        taskId: "task-001",
      },
    };
    const answer = await post(url, JSON.stringify(sample));
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toMatch(/^application\/json/);
    const task = taskSchema.parse(JSON.parse(answer.text));
    expect(task).toMatchObject({ id: "task-001", status: { state: "completed" } });
    expect(words(task)).toBe("Implement feature X");
  });

  it("R022, R064, C42: the task has the id the message chose, else that of the message, else one of ours", async () => {
    const { url } = await startScripted();
    const ids = async (rest: Record<string, unknown>): Promise<string> =>
      (await send(url, "hello", rest)).id;
    expect(await ids({ messageId: "m", taskId: "t" })).toBe("t");
    expect(await ids({ messageId: "m", taskId: "" })).toBe("m");
    expect(await ids({ messageId: undefined, taskId: "only" })).toBe("only");
    expect(await ids({ messageId: "", taskId: undefined })).toMatch(/^anonymous-[0-9a-f-]{36}$/);
    expect(await ids({ messageId: null, taskId: null })).toMatch(/^anonymous-/);
    expect(await ids({ messageId: "ünïcode / % #" })).toBe("ünïcode / % #");
  });

  it("R025, R066: a failed task says why", async () => {
    const { url } = await startScripted();
    for (const text of ["fail", "reject", ""]) {
      const task = taskSchema.parse(await send(url, text, { messageId: `m ${text}` }));
      expect(task.status.state).toBe("failed");
      expect(textOf(task.status.message!.parts)).not.toBe("");
    }
  });

  it("keeps members that nobody knows", async () => {
    const { url } = await startScripted();
    const task = await send(url, "hello", { colour: "red", metadata: { shade: 5 } });
    expect(task.history?.[0]).toMatchObject({ colour: "red", metadata: { shade: 5 } });
  });

  it("R023: a task that asks waits for its answer, and goes on with it", async () => {
    const { url } = await startScripted();
    const asking = await send(url, "ask", { messageId: "q", taskId: "t" });
    expect(asking.status.state).toBe("input-required");
    const done = await send(url, "ask", { messageId: "a", taskId: "t" });
    expect(done).toMatchObject({ id: "t", status: { state: "completed" } });
    expect(words(done)).toBe("thanks");
  });

  it("meets the running or finished task when it is sent again", async () => {
    const { url, runtime } = await startScripted();
    const first = send(url, "wait 300", { taskId: "t" });
    await expect.poll(() => runtime().list({}, ANYONE).length).toBe(1);
    const [one, two] = await Promise.all([first, send(url, "wait 300", { taskId: "t" })]);
    expect(two).toEqual(one);
    expect(await send(url, "wait 300", { taskId: "t" })).toEqual(one);
  });

  it("C41: a body with jsonrpc is none of contract v1", async () => {
    const { url } = await startScripted();
    const body = { jsonrpc: "2.0", id: 7, method: "GetTask", params: { id: "none" }, message: {} };
    const headers = { "a2a-version": "1.0" };
    const { status, text } = await post(url, JSON.stringify(body), { headers });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ jsonrpc: "2.0", id: 7, error: { code: -32001 } });
  });

  it("takes the trace of the request into the call, and nothing else of its headers (T1)", async () => {
    const calls: Call[] = [];
    const watching = definePlugin({
      name: "watching",
      setup(gateway) {
        gateway.use("observe", (call, next) => {
          calls.push(call);
          return next(call);
        });
      },
    });
    const { url } = await startScripted({ plugins: [watching] });
    const trace = {
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      tracestate: "a=1",
      baggage: "user=5",
    };
    const headers = { ...trace, authorization: "Bearer x", cookie: "a=b" };
    await send(url, "hello", {}, { headers });
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({ source: "a2a", server: "a2a", name: "scripted" });
    expect(calls[0]!.meta).toMatchObject({
      traceparent: expect.stringContaining("0af7651916cd43dd8448eb211c80319c") as string,
      baggage: "user=5",
    });
    expect(JSON.stringify(calls[0]!.meta)).not.toMatch(/Bearer|a=b/);
  });

  it("T4: belongs to whoever sent it, and is refused without credentials", async () => {
    const config = { auth: { apiKey: "a-key-of-sixteen-and-more" } };
    const { url } = await startScripted({ config });
    expect((await post(url, messageOf("hello"))).status).toBe(401);
    const headers = { authorization: `Bearer ${config.auth.apiKey}` };
    expect(words(await send(url, "hello", {}, { headers }))).toBe("hello");
    for (const path of ["/health", "/.well-known/agent-card.json", "/runtime-contract.json"])
      expect((await fetch(url + path)).status).toBe(200);
  });
});

describe("a client that goes away", () => {
  /** How a task ends whose client went away. */
  const endOf = async (accept?: string, isChunked = false): Promise<string | undefined> => {
    const { url, runtime } = await startScripted();
    const abort = new AbortController();
    const { signal } = abort;
    const options = { signal, isChunked, ...(accept !== undefined && { accept }) };
    const answer = post(url, messageOf("hang", { taskId: "t" }), options).catch(() => "gone");
    const state = (): string | undefined => runtime().list({}, ANYONE)[0]?.status.state;
    await expect.poll(state).toBe("working");
    abort.abort();
    expect(await answer).toBe("gone");
    await expect.poll(state).not.toBe("working");
    return state();
  };

  it("ends its task, for contract v1 has no way to come back", async () => {
    expect(await endOf()).toBe("canceled");
  });

  it("ends it also when the length of its message was not told", async () => {
    expect(await endOf(undefined, true)).toBe("canceled");
  });

  it("ends it with events too", async () => {
    expect(await endOf("text/event-stream")).toBe("canceled");
  });

  it("does not end a task that another one waits for", async () => {
    const { url, runtime } = await startScripted();
    const abort = new AbortController();
    const body = messageOf("wait 400", { taskId: "t" });
    const first = post(url, body, { signal: abort.signal }).catch(() => "gone");
    await expect.poll(() => runtime().list({}, ANYONE)[0]?.status.state).toBe("working");
    const client = new Client(url);
    const second = client.request({
      method: "POST",
      path: "/",
      body,
      headers: { "content-type": "application/json", accept: "text/event-stream" },
    });
    // The head of the stream is there once the second one waits.
    const { body: stream } = await second;
    abort.abort();
    expect(await first).toBe("gone");
    const events = eventsIn(await stream.text());
    expect(events.at(-1)).toMatchObject({ statusUpdate: { status: { state: "completed" } } });
    await client.close();
  });

  it("has its message worked on anew when it comes back, because nobody has the answer", async () => {
    const { url, runtime } = await startScripted();
    const abort = new AbortController();
    const body = messageOf("wait 200", { taskId: "t" });
    const first = post(url, body, { signal: abort.signal }).catch(() => "gone");
    const state = (): string | undefined => runtime().list({}, ANYONE)[0]?.status.state;
    await expect.poll(state).toBe("working");
    abort.abort();
    expect(await first).toBe("gone");
    await expect.poll(state).toBe("canceled");
    const again = await Promise.all([1, 2].map(() => post(url, body)));
    expect(again.map(({ text }) => (JSON.parse(text) as Task).status.state)).toEqual([
      "completed",
      "completed",
    ]);
    expect(runtime().list({}, ANYONE)).toHaveLength(1);
  });
});

describe("events", () => {
  const stream = async (text: string, accept = "text/event-stream"): ReturnType<typeof post> =>
    post((await startScripted()).url, messageOf(text), { accept });

  it("R040-R042, R073: are sent for Accept: text/event-stream, first the task, then its updates", async () => {
    const { status, headers, text } = await stream("stream one two");
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("text/event-stream");
    const events = eventsIn(text);
    expect(events[0]).toMatchObject({ task: { id: "m-1", status: { state: "submitted" } } });
    const states = events.flatMap((event) => {
      const { statusUpdate } = event as { statusUpdate?: { status: { state: string } } };
      return statusUpdate ? [statusUpdate.status.state] : [];
    });
    expect(states).toEqual(["working", "working", "completed"]);
    // An update that does not append has the whole artifact.
    const pieces = events.reduce<string[]>((before, event) => {
      const { artifactUpdate } = event as {
        artifactUpdate?: { append?: boolean; artifact: { parts: { text: string }[] } };
      };
      const texts = artifactUpdate?.artifact.parts.map((part) => part.text);
      return texts ? [...(artifactUpdate!.append ? before : []), ...texts] : before;
    }, []);
    expect(pieces.join("")).toBe("one two ");
  });

  it("C43: know the words of the contract alone", async () => {
    const { text } = await stream("reject");
    expect(eventsIn(text).at(-1)).toMatchObject({
      statusUpdate: { status: { state: "failed", message: { role: "agent" } } },
    });
  });

  it("end with a question", async () => {
    const { text } = await stream("ask");
    expect(eventsIn(text).at(-1)).toMatchObject({
      statusUpdate: { status: { state: "input-required" } },
    });
  });

  it("are one for a message with which nothing can be done, and for a task that is over", async () => {
    expect(eventsIn((await stream("")).text)).toMatchObject([
      { task: { status: { state: "failed" } } },
    ]);
    const { url } = await startScripted();
    const done = await send(url, "hello");
    const { text } = await post(url, messageOf("hello"), { accept: "text/event-stream" });
    expect(eventsIn(text)).toEqual([{ task: done }]);
  });

  it("are not sent where JSON is wanted more", async () => {
    for (const accept of [
      "*/*",
      "application/json",
      "text/event-stream;q=0",
      "text/event-stream;q=0.5, application/json",
    ])
      expect((await stream("hello", accept)).headers["content-type"]).toMatch(/^application\/json/);
  });

  it("R028: a wrong content type is a status code for a stream as well", async () => {
    const { url } = await startScripted();
    const { status } = await post(url, "{}", { type: "text/plain", accept: "text/event-stream" });
    expect(status).toBe(415);
  });
});

describe("what the runtime says of itself", () => {
  it("R015, R030, R043, R062, R074: the card is there before the first task, and says that it streams", async () => {
    const { url } = await startScripted();
    const answer = await fetch(`${url}/.well-known/agent-card.json`);
    expect(answer.headers.get("content-type")).toBe("application/json");
    const card = agentCardSchema.parse(await answer.json());
    expect(card.capabilities.streaming).toBe(true);
  });

  it("R017, R035, R061: it is healthy when it is ready", async () => {
    const { url } = await startScripted();
    const answer = await fetch(`${url}/health`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
    expect(await answer.json()).toEqual({ status: "ok" });
  });

  it("R029, R036: it is not ready until the server of a skill was connected", async () => {
    const late = await startRuntime({
      skills: [{ id: "late", tool: { server: "late", name: "say" } }],
      config: { servers: { late: { url: "http://127.0.0.1:9/mcp" } } },
    });
    expect((await fetch(`${late.url}/health`)).status).toBe(503);
    const refused = await post(late.url, messageOf("hello"));
    expect(refused.status).toBe(503);
    expect(refused.headers["retry-after"]).toBe("1");
  });

  it("R035: is ready once that server is there, and stays so when it goes: a probe must not kill the container", async () => {
    const port = await freePort();
    const upstream = {
      url: `http://127.0.0.1:${port}/mcp`,
      backoff: { initial: "50ms", max: "100ms" },
    };
    const { url } = await startRuntime({
      skills: [{ id: "late", tool: { server: "late", name: "say" } }],
      config: { servers: { late: upstream } },
    });
    const health = async (): Promise<number> => (await fetch(`${url}/health`)).status;
    expect(await health()).toBe(503);
    const say = definePlugin({
      name: "say",
      setup: (gateway) => gateway.tool("say", { description: "Says hello.", run: () => "hello" }),
    });
    const config = { listeners: { main: { port } } };
    const { gateway } = await setupGateway({ plugins: [say], config, client: false });
    await expect.poll(health).toBe(200);
    await gateway.close({ grace: 0 });
    expect(await health()).toBe(200);
  });

  it("R037: says in the log when it is not ready within STARTUP_TIMEOUT, and what is missing", async () => {
    vi.stubEnv("STARTUP_TIMEOUT", "50ms");
    onTestFinished(() => void vi.unstubAllEnvs());
    const lines: Record<string, unknown>[] = [];
    const log = pino(
      { level: "error" },
      { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) },
    );
    await setupGateway({
      plugins: [
        [
          a2a,
          { listener: "main", skills: [{ id: "late", tool: { server: "late", name: "say" } }] },
        ],
      ],
      config: { servers: { late: { url: "http://127.0.0.1:9/mcp" } } },
      client: false,
      log,
    });
    await expect
      .poll(() => lines.find(({ startupTimeoutMs }) => startupTimeoutMs === 50))
      .toMatchObject({ servers: ["late"], plugin: "a2a" });
  });

  it("R077-R079, R083, R086, R088: serves its manifest, worked out from its config", async () => {
    const { url } = await startScripted();
    const manifest = (await (await fetch(`${url}/runtime-contract.json`)).json()) as object;
    expect(manifestSchema.parse(manifest)).toEqual(manifest);
    expect(manifest).toEqual({
      contractVersion: "v1",
      runtime: { name: "propylon", version: "1.0.0", description: "Does what the message says." },
      server: {
        port: Number(new URL(url).port),
        healthPath: "/health",
        agentCardPath: "/.well-known/agent-card.json",
        taskPath: "/",
      },
      capabilities: {
        streaming: true,
        traceContext: false,
        gracefulShutdown: true,
        contextCompaction: false,
      },
      conformanceLevel: 1,
    });
  });

  it.each([
    { first: "work", telemetry: false, level: 1, compacts: true },
    { first: "work", telemetry: true, level: 3, compacts: true },
    { first: "work", telemetry: true, level: 2, compacts: false, compaction: false },
    { first: "run", telemetry: false, level: 1, compacts: false },
    { first: "run", telemetry: true, level: 2, compacts: false },
  ])(
    "20: the manifest claims what is so: $first first, telemetry $telemetry, level $level",
    async ({ first, telemetry: traces, level, compacts, compaction }) => {
      const skills = [
        { id: "work", agent: "worker" },
        { id: "run", command: [process.execPath, "-v"] },
      ].toSorted(({ id }) => (id === first ? -1 : 1));
      const providers = {
        none: { type: "openai-compatible", baseUrl: "http://127.0.0.1:9/v1" },
      };
      const worker = { description: "Works.", servers: [] };
      const { url } = await startRuntime({
        skills,
        options: {
          workDir: makeFolder(),
          ...(compaction !== undefined && { sessions: { compaction } }),
        },
        plugins: [
          [agents, { providers, model: "none/none", agents: { worker } }],
          ...(traces ? [telemetry] : []),
        ],
      });
      const served: unknown = await (await fetch(`${url}/runtime-contract.json`)).json();
      expect(served).toMatchObject({
        conformanceLevel: level,
        capabilities: { streaming: true, traceContext: traces, contextCompaction: compacts },
      });
    },
  );

  it("R079: the config can say it differently", async () => {
    const manifest = { conformanceLevel: 1, runtime: { name: "x", version: "9", team: "t" } };
    const file = join(makeFolder(), "runtime-contract.json");
    const options = {
      manifest: { ...manifest, file },
      sessions: { compaction: false },
      path: "/agent",
    };
    const { url } = await startScripted({ options });
    const served: unknown = await (await fetch(`${url}/runtime-contract.json`)).json();
    const written = async (): Promise<unknown> =>
      JSON.parse(await readFile(file, "utf8").catch(() => "{}"));
    await expect.poll(written).toEqual(served);
    expect(served).toMatchObject({
      conformanceLevel: 1,
      runtime: { name: "x", version: "9", team: "t" },
      server: { taskPath: "/agent", healthPath: "/health" },
      capabilities: { contextCompaction: false },
    });
  });
});
