import { outcomeOf, Cancellation } from "propylon/kit";
import { abortError, InFlightSet } from "../../../core/kit/cancellation.ts";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import {
  Answer,
  createLogger,
  definePlugin,
  GatewayError,
  STAGES,
  type Call,
  type Middleware,
  type Stage,
} from "../../../core/index.ts";
import { completeCall } from "../../../core/server/tool-call.ts";
import {
  type Abortion,
  composePipeline,
  createDeadline,
  race,
} from "../../../core/call/pipeline.ts";
import { setupGateway } from "../../../core/testing/index.ts";

const OK = Answer.result({ content: [] });
const callOf = (more: Partial<Call> = {}): Call => ({
  ...completeCall({ server: "s", name: "t" }, new Map()),
  ...more,
});
const noted = (
  stage: Stage,
  seen: string[],
  label: string = stage,
): { stage: Stage; run: Middleware } => ({
  stage,
  run(call, next) {
    seen.push(label);
    return next(call);
  },
});

describe("the pipeline", () => {
  it("runs the stages in their order, and within a stage in the order given", async () => {
    const stages = fc.array(fc.constantFrom(...STAGES), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(stages, async (joined) => {
        const seen: string[] = [];
        const middleware = joined.map((stage, index) =>
          noted(stage, seen, `${STAGES.indexOf(stage)} ${String(index).padStart(2, "0")}`),
        );
        await composePipeline(middleware, () => Promise.resolve(OK))(callOf());
        expect(seen).toEqual(seen.toSorted());
        expect(seen).toHaveLength(joined.length);
      }),
    );
  });

  it("is the terminal itself when nobody joined", () => {
    const terminal = () => Promise.resolve(OK);
    expect(composePipeline([], terminal)).toBe(terminal);
  });

  it("turns a throw into a rejection, so that an outer stage sees every failure the same way", async () => {
    const seen: string[] = [];
    const outer: Middleware = (call, next) =>
      next(call).catch((error: Error) => (seen.push(error.message), Answer.result({})));
    const inner: Middleware = () => {
      throw new Error("at once");
    };
    await composePipeline(
      [
        { stage: "observe", run: outer },
        { stage: "gate", run: inner },
      ],
      () => Promise.resolve(OK),
    )(callOf());
    expect(seen).toEqual(["at once"]);
  });

  it("passes on a changed copy; the caller's call stays as it was", async () => {
    const call = Object.freeze(callOf({ args: { a: 1 } }));
    const change: Middleware = (given, next) => next({ ...given, args: { a: 2 } });
    const seen: unknown[] = [];
    await composePipeline(
      [{ stage: "gate", run: change }],
      (given) => (seen.push(given.args), Promise.resolve(OK)),
    )(call);
    expect(seen).toEqual([{ a: 2 }]);
    expect(call.args).toEqual({ a: 1 });
  });
});

const hang = (call: Call): Promise<Answer> => race(call, () => new Promise<Answer>(() => {}));

describe("the deadline", () => {
  it("P/M038: ends a call after its time with the code timeout and the milliseconds", async () => {
    const running = new InFlightSet<Abortion>();
    const run = composePipeline(
      [{ stage: "deadline", run: createDeadline(() => ({ total: 15 }), running) }],
      hang,
    );
    const error = await run(callOf()).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "timeout",
      status: 504,
      message: '"t" of "s" did not answer within 15 ms.',
    });
    expect(running.size).toBe(0);
  });

  it("passes a caller's cancel on, and leaves no listener on the caller's signal", async () => {
    const caller = new AbortController();
    const add = vi.spyOn(caller.signal, "addEventListener");
    const remove = vi.spyOn(caller.signal, "removeEventListener");
    const run = composePipeline(
      [{ stage: "deadline", run: createDeadline(() => ({ total: 60_000 }), new InFlightSet()) }],
      hang,
    );
    const ended = run(callOf({ signal: caller.signal }));
    caller.abort();
    await expect(ended).rejects.toMatchObject({ code: "cancelled" });
    expect(remove).toHaveBeenCalledTimes(add.mock.calls.length);
    await expect(run(callOf({ signal: caller.signal }))).rejects.toMatchObject({
      code: "cancelled",
    });
  });

  it("does not fire at once for a time no timer can hold", async () => {
    const run = composePipeline(
      [{ stage: "deadline", run: createDeadline(() => ({ total: 1e12 }), new InFlightSet()) }],
      () => Promise.resolve(OK),
    );
    expect(await run(callOf())).toBe(OK);
  });

  it("takes the caller's time, then the tool's, then the gateway's", async () => {
    const plugin = definePlugin({
      name: "p",
      setup(gateway) {
        gateway.tool("own", {
          description: "",
          timeout: 20,
          run: () => new Promise<string>(() => {}),
        });
        gateway.tool("none", { description: "", run: () => new Promise<string>(() => {}) });
      },
    });
    const { gateway } = await setupGateway({
      plugins: [plugin],
      config: { timeouts: { default: "30ms" } },
    });
    const words = (name: string, timeout?: number) =>
      gateway
        .call({ server: "p", name, ...(timeout !== undefined && { timeout }) })
        .catch((error: Error) => error.message);
    expect(await words("own", 10)).toContain("within 10 ms");
    expect(await words("own")).toContain("within 20 ms");
    expect(await words("none")).toContain("within 30 ms");
  });

  it("lets a breaker inside it count the timeout, but tells it apart from a cancel", async () => {
    const seen: string[] = [];
    const breaker: Middleware = (call, next) =>
      next(call).catch((error: GatewayError) => (seen.push(error.code), Promise.reject(error)));
    const run = composePipeline(
      [
        { stage: "breaker", run: breaker },
        { stage: "deadline", run: createDeadline(() => ({ total: 5 }), new InFlightSet()) },
      ],
      hang,
    );
    await run(callOf()).catch(() => {});
    await run(callOf({ signal: AbortSignal.abort() })).catch(() => {});
    const caller = new AbortController();
    const ended = run(callOf({ signal: caller.signal })).catch(() => {});
    caller.abort();
    await ended;
    expect(seen).toEqual(["timeout", "cancelled"]);
  });
});

describe("the cancellation of a call", () => {
  const nobody = { server: "s", name: "t" };

  it("makes no real signal unless somebody looks", async () => {
    const call = completeCall(nobody, new Map());
    const run = composePipeline(
      [{ stage: "deadline", run: createDeadline(() => ({ total: 5 }), new InFlightSet()) }],
      (given) => race(given, () => new Promise<Answer>(() => {})),
    );
    await expect(run(call)).rejects.toMatchObject({ code: "timeout" });
    expect(call.cancellation!.isPristine).toBe(true);
    expect(call.signal.aborted).toBe(true);
    expect(call.signal.reason).toMatchObject({ code: "timeout" });
  });

  it("does not hide a signal that a middleware put in place", async () => {
    const mine = new AbortController();
    const swap: Middleware = (call, next) => next({ ...call, signal: mine.signal });
    const run = composePipeline([{ stage: "breaker", run: swap }], (given) =>
      race(given, () => new Promise<Answer>(() => {})),
    );
    const ended = run(completeCall(nobody, new Map()));
    mine.abort();
    await expect(ended).rejects.toMatchObject({ code: "cancelled" });
  });

  it("is not shared with calls made on its behalf: the deadline of one does not end the other", async () => {
    const parent = completeCall(nobody, new Map());
    const child = completeCall({ ...parent }, new Map());
    const run = composePipeline(
      [{ stage: "deadline", run: createDeadline(() => ({ total: 5 }), new InFlightSet()) }],
      hang,
    );
    await expect(run(child)).rejects.toMatchObject({ code: "timeout" });
    expect(parent.signal.aborted).toBe(false);
    const second = run(completeCall({ ...parent }, new Map()));
    parent.cancellation!.abort();
    await expect(second).rejects.toMatchObject({ code: "cancelled" });
  });

  it("tells every listener that is still there, once, and a signal made later", () => {
    const cancellation = new Cancellation();
    const heard: string[] = [];
    const gone = () => void heard.push("gone");
    cancellation.addEventListener("abort", gone);
    cancellation.addEventListener("abort", { handleEvent: () => void heard.push("object") });
    cancellation.addEventListener("abort", () => void heard.push("function"));
    cancellation.removeEventListener("abort", gone);
    cancellation.abort("why");
    cancellation.abort("again");
    expect(heard).toEqual(["object", "function"]);
    expect(cancellation.signal.reason).toBe("why");
  });
});

describe("the end of a call in three layers", () => {
  it.each([
    ["a result", Answer.result({ content: [] }), { transport: "ok", rpc: "ok", tool: "ok" }],
    [
      "a tool's own failure",
      Answer.result({ isError: true }),
      { transport: "ok", rpc: "ok", tool: "error" },
    ],
    [
      "a JSON-RPC error",
      Answer.error({ code: -32602, message: "" }),
      { transport: "ok", rpc: -32602, tool: undefined },
    ],
    [
      "a timeout",
      new GatewayError("timeout", ""),
      { transport: "timeout", rpc: undefined, tool: undefined },
    ],
    ["anything thrown", new Error("x"), { transport: "internal", rpc: undefined, tool: undefined }],
  ])("%s", (_, end, expected) => {
    expect(outcomeOf(end)).toEqual(expected);
  });

  it("an abort without a reason of ours is a cancel", () => {
    expect(abortError(AbortSignal.abort())).toMatchObject({ code: "cancelled" });
  });
});

it("a log never shows a credential", async () => {
  const lines: string[] = [];
  const log = await createLogger(
    { level: "info", format: "json" },
    { write: (line) => void lines.push(line) },
  );
  log.info(
    { authorization: "Bearer CANARY", headers: { cookie: "CANARY", "x-api-key": "CANARY" } },
    "request",
  );
  expect(lines.join("")).not.toContain("CANARY");
  expect(JSON.parse(lines[0]!)).toMatchObject({
    authorization: "[redacted]",
    headers: { cookie: "[redacted]" },
  });
});
