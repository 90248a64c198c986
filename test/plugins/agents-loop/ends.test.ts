import { Answer, GatewayError } from "propylon";
import { describe, expect, it, vi } from "vitest";
import { Toolbox } from "../../../plugins/agents/loop/toolbox.ts";
import { deferred } from "../../kit/deferred.ts";
import { answer, modelOf, resultsIn, run, start, tool } from "./start.ts";

const READ = { name: "files__read", args: { path: "/x" } };
const forever = (): { calls: (typeof READ)[] } => ({ calls: [READ] });

/** The first request of a process imports the packages, which takes as long as these budgets. */
async function warmUp(): Promise<void> {
  await run({ model: modelOf(await start([{ text: "Warm." }])) });
}

describe("budgets", () => {
  it("turns: as many requests as allowed, and no tool whose result nobody would see", async () => {
    const server = await start(forever);
    const { result, calls } = await run({ model: modelOf(server), limits: { turns: 3 } });
    expect(result).toMatchObject({ end: "turns", turns: 3 });
    expect(result.text).toBe(
      "[Stopped before the task was done: the budget of 3 model requests is used up.]",
    );
    expect(result.messages.at(-1)).toEqual({ role: "assistant", parts: result.parts });
    expect(server.requests).toHaveLength(3);
    expect(calls).toHaveLength(2);
  });

  it("T013: a server that refuses every call is told to the model, and costs no more than the budget", async () => {
    const server = await start(forever);
    const refused = new GatewayError("unauthorized", "The library refuses the token.");
    const call = (): Promise<never> => Promise.reject(refused);
    const { result, calls } = await run({ model: modelOf(server), limits: { turns: 4 }, call });
    expect(result).toMatchObject({ end: "turns", turns: 4 });
    expect(server.requests).toHaveLength(4);
    expect(calls).toHaveLength(3);
    const told = resultsIn(result.messages).map((each) => JSON.stringify(each));
    for (const each of told.slice(0, 3)) expect(each).toContain("The library refuses the token.");
  });

  it("tokens: no request once they are used, and no answer longer than what is left", async () => {
    const server = await start(() => ({ calls: [READ], usage: { input: 30, output: 10 } }));
    const { result } = await run({ model: modelOf(server), limits: { tokens: 100 } });
    expect(result).toMatchObject({ end: "tokens", usage: { inputTokens: 90, outputTokens: 30 } });
    expect(result.text).toContain("the budget of 100 tokens is used up");
    expect(server.requests.map(({ body }) => body["max_tokens"])).toEqual([100, 60, 20]);
  });

  it("output tokens: an answer that was cut off says so", async () => {
    const server = await start([{ text: "Once upon", finish: "length" }]);
    const { result } = await run({ model: modelOf(server), limits: { outputTokens: 2 } });
    expect(server.requests[0]!.body["max_tokens"]).toBe(2);
    expect(result).toMatchObject({ end: "tokens" });
    expect(result.text).toMatch(/^Once upon\n\[Stopped .* budget of 2 tokens for one answer is/);
    expect(result.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  });

  it("tool calls: a turn that wants more than are left runs none of them", async () => {
    const server = await start([{ calls: [READ] }, { calls: [READ, READ] }]);
    const { result, calls } = await run({ model: modelOf(server), limits: { toolCalls: 2 } });
    expect(result).toMatchObject({ end: "calls", turns: 2 });
    expect(result.text).toContain("the budget of 2 tool calls is used up");
    expect(calls).toHaveLength(1);
  });

  it("tool calls: the last allowed one is still answered", async () => {
    const server = await start([{ calls: [READ] }, { text: "Done." }]);
    const { result } = await run({ model: modelOf(server), limits: { toolCalls: 1 } });
    expect(result).toMatchObject({ end: "finished", text: "Done." });
  });

  it("time: hangs up on the model", async () => {
    const server = await start(() => ({ until: new Promise(() => undefined) }));
    await warmUp();
    const { result } = await run({ model: modelOf(server), limits: { time: 500 } });
    expect(result).toMatchObject({ end: "time", turns: 1 });
    expect(result.text).toContain("the budget of 0.5 seconds is used up");
    await server.when(({ requests }) => requests[0]?.aborted === true);
  });

  it("time: lets go of a tool that does not listen to its signal, and says that it failed", async () => {
    const server = await start(forever);
    await warmUp();
    const { result, events, calls } = await run({
      model: modelOf(server),
      limits: { time: 500 },
      call: () => new Promise(() => undefined),
    });
    expect(result.end).toBe("time");
    expect(calls[0]!.signal.aborted).toBe(true);
    expect(events.filter(({ type }) => type === "tool")).toMatchObject([
      { state: "started" },
      { state: "failed" },
    ]);
    expect(server.requests).toHaveLength(1);
  });
});

describe("the signal", () => {
  it("hangs up on the model", async () => {
    const server = await start(() => ({ until: new Promise(() => undefined) }));
    const abort = new AbortController();
    const ran = run({ model: modelOf(server), signal: abort.signal });
    await server.when(({ inFlight }) => inFlight === 1);
    abort.abort();
    await expect(ran).rejects.toMatchObject({ code: "cancelled" });
    await server.when(({ requests }) => requests[0]?.aborted === true);
  });

  it("aborts the tools, whether they listen or not", async () => {
    const server = await start(forever);
    const abort = new AbortController();
    let given: AbortSignal | undefined;
    const ran = run({
      model: modelOf(server),
      signal: abort.signal,
      call: ({ signal }) => {
        given = signal;
        queueMicrotask(() => abort.abort());
        return new Promise(() => undefined);
      },
    });
    await expect(ran).rejects.toMatchObject({ code: "cancelled" });
    expect(given!.aborted).toBe(true);
    expect(server.requests).toHaveLength(1);
  });

  it("starts no tool that waits for its turn", async () => {
    const server = await start([{ calls: [READ, READ, READ] }]);
    const abort = new AbortController();
    let called = 0;
    const ran = run({
      model: modelOf(server),
      limits: { parallel: 1 },
      signal: abort.signal,
      call: () => {
        called++;
        queueMicrotask(() => abort.abort());
        return new Promise(() => undefined);
      },
    });
    await expect(ran).rejects.toMatchObject({ code: "cancelled" });
    expect(called).toBe(1);
  });

  it("lets go of a tool of the run that started when all was over", async () => {
    const server = await start([{ calls: [READ, { name: "wait" }] }]);
    const abort = new AbortController();
    const wait = {
      name: "wait",
      description: "Waits.",
      inputSchema: { type: "object" },
      run: () => new Promise<string>(() => undefined),
    };
    const ran = run({
      model: modelOf(server),
      toolbox: new Toolbox([tool("files", "read")], [wait]),
      limits: { parallel: 1 },
      signal: abort.signal,
      call: () => {
        abort.abort();
        return new Promise(() => undefined);
      },
    });
    await expect(ran).rejects.toMatchObject({ code: "cancelled" });
  });

  it("makes no request when it is aborted from the start", async () => {
    const server = await start([]);
    const ran = run({ model: modelOf(server), signal: AbortSignal.abort() });
    await expect(ran).rejects.toMatchObject({ code: "cancelled" });
    expect(server.requests).toHaveLength(0);
  });

  it("is let go of at the end of a run, and so is the timer", async () => {
    const server = await start(() => ({ text: "Done." }));
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args));
    signal.removeEventListener = (...args: Parameters<typeof remove>) => (
      listeners--,
      remove(...args)
    );
    const timers = vi.spyOn(globalThis, "setTimeout");
    const cleared = vi.spyOn(globalThis, "clearTimeout");
    await run({ model: modelOf(server), signal, limits: { time: 3_600_000 } });
    const clock = timers.mock.calls.findIndex(([, time]) => time === 3_600_000);
    expect(cleared).toHaveBeenCalledWith(timers.mock.results[clock]!.value);
    expect(listeners).toBe(0);
    vi.restoreAllMocks();
  });
});

describe("stop without abort", () => {
  it("lets the request in flight end and makes no further one", async () => {
    const gate = deferred();
    const server = await start(() => ({ text: "Thought.", calls: [READ], until: gate.promise }));
    let stopped = false;
    const ran = run({ model: modelOf(server), mayContinue: () => !stopped });
    await server.when(({ inFlight }) => inFlight === 1);
    stopped = true;
    gate.resolve();
    const { result, calls } = await ran;
    expect(result).toMatchObject({ end: "prevented", turns: 1, text: "Thought." });
    expect(server.requests).toMatchObject([{ answered: true, aborted: false }]);
    expect(calls).toEqual([]);
    expect(result.messages.at(-1)).toMatchObject({
      role: "tool",
      parts: [{ isError: true, parts: [{ text: "Not run: the agent was stopped." }] }],
    });
  });

  it("A030: starts no tool that waited for its turn while the run was stopped", async () => {
    const server = await start([{ calls: [READ, READ, READ] }]);
    let stopped = false;
    let called = 0;
    const { result } = await run({
      model: modelOf(server),
      limits: { parallel: 1 },
      mayContinue: () => !stopped,
      call: async () => {
        called++;
        stopped = true;
        return Answer.result({ content: [{ type: "text", text: "read" }] });
      },
    });
    expect([result.end, called]).toEqual(["prevented", 1]);
    expect(result.messages.at(-1)!.parts).toHaveLength(3);
  });

  it("still runs what the agent asked of the run itself", async () => {
    const gate = deferred();
    const server = await start(() => ({ calls: [READ, { name: "done" }], until: gate.promise }));
    let stopped = false;
    let told = 0;
    const done = {
      name: "done",
      description: "Ends it.",
      inputSchema: { type: "object" },
      run: () => `Noted ${++told}.`,
    };
    const toolbox = new Toolbox([tool("files", "read")], [done]);
    const ran = run({ model: modelOf(server), toolbox, mayContinue: () => !stopped });
    await server.when(({ inFlight }) => inFlight === 1);
    stopped = true;
    gate.resolve();
    expect((await ran).result.end).toBe("prevented");
    expect(told).toBe(1);
  });

  it("makes no request at all when it may not begin", async () => {
    const server = await start([]);
    const { result, events } = await run({ model: modelOf(server), mayContinue: () => false });
    expect(result).toMatchObject({ end: "prevented", turns: 0, parts: [] });
    expect(events).toEqual([]);
    expect(server.requests).toHaveLength(0);
  });

  it("makes no retry either, and is no failure", async () => {
    const server = await start(() => ({ status: 503 }));
    let stopped = false;
    const model = modelOf(server, { backoff: "200ms" });
    const ran = run({ model, mayContinue: () => !stopped });
    await server.when(({ requests }) => requests[0]?.answered === true);
    stopped = true;
    expect((await ran).result.end).toBe("prevented");
    expect(server.requests).toHaveLength(1);
  });

  it("lets tools that run already come to their end", async () => {
    const server = await start(forever);
    let stopped = false;
    const { result, calls } = await run({
      model: modelOf(server),
      mayContinue: () => !stopped,
      call: async () => {
        stopped = true;
        return answer("written");
      },
    });
    expect(result.end).toBe("prevented");
    expect(calls).toHaveLength(1);
    expect(result.messages.at(-1)).toMatchObject({ parts: [{ isError: false }] });
  });
});

it("a model that fails ends the run with its failure", async () => {
  const server = await start([{ calls: [READ] }, { status: 401 }]);
  await expect(run({ model: modelOf(server) })).rejects.toMatchObject({
    code: "upstream_error",
    message: 'Provider "p" of model "m" refuses the key (HTTP 401).',
  });
});
