import { describe, expect, it } from "vitest";
import { z } from "zod";
import { definePlugin, type Progress } from "../../../core/index.ts";
import { setupGateway, testPlugin } from "../../../core/testing/index.ts";
import gating from "../../../plugins/gating/index.ts";
import progress from "../../../plugins/progress/index.ts";
import { messagesIn, OBSERVED_CLIENTS, type Exchange } from "../../fixtures/exchanges.ts";

testPlugin(progress, { config: {}, changed: { mode: "compat" } });

const worker = definePlugin({
  name: "worker",
  setup(gateway) {
    gateway.tool("flood", {
      description: "Reports much.",
      input: z.object({ count: z.number() }),
      run: ({ count }, call) => {
        for (let at = 1; at <= count; at++)
          call.progress?.({ progress: at, total: count, message: `item ${at}` });
        return "done";
      },
    });
    gateway.tool("silent", {
      description: "Says nothing.",
      input: z.object({ ms: z.number() }),
      run: ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms, "done")),
    });
    gateway.tool("seed", {
      description: "The sequence of the source.",
      run: (_args, call) => {
        for (const [value, total, message] of [
          [0, undefined, "research/research__research: started"],
          [1, undefined, "harper step 1 (tool)"],
          [2, undefined, "harper step 2 (llm)"],
          [1, 1, "research/research__research: completed"],
          [1, 1, "tech_research/tech_research__tech_research: completed"],
        ] as const)
          call.progress?.({ progress: value, message, ...(total !== undefined && { total }) });
        return "done";
      },
    });
  },
});

async function callWorker(
  name: string,
  args: object,
  options: Record<string, unknown> = {},
  token = true,
) {
  const { client } = await setupGateway({ plugins: [worker, [progress, options]] });
  const reports: Progress[] = [];
  const result = await client.callTool(
    { name, arguments: args as Record<string, unknown> },
    undefined,
    token ? { onprogress: (report) => void reports.push(report as Progress) } : {},
  );
  return { result, reports };
}

describe("progress of calls", () => {
  it("P095, P096, P097, P103, P104: the sequence of the source arrives in its order, with increasing values", async () => {
    const { reports } = await callWorker("seed", {});
    expect(reports.map(({ message }) => message)).toEqual([
      "research/research__research: started",
      "harper step 1 (tool)",
      "harper step 2 (llm)",
      "research/research__research: completed",
      "tech_research/tech_research__tech_research: completed",
    ]);
    expect(
      reports.every((report, at) => at === 0 || report.progress > reports[at - 1]!.progress),
    ).toBe(true);
    expect(reports.slice(3).every((report) => report.progress === report.total)).toBe(true);
  });

  it.each(OBSERVED_CLIENTS)(
    "P097, P098: %s gets reports and result in one event stream, the answer of the call's own request",
    async (_, connect) => {
      const { gateway } = await setupGateway({ plugins: [worker, progress], client: false });
      const { call, exchanges } = await connect(gateway.endpoints[0]!.url);
      const { result, reports } = await call("seed");
      expect(result["content"]).toEqual([{ type: "text", text: "done" }]);
      expect(reports).toHaveLength(5);
      const isCall = ({ body }: Exchange): boolean => body.includes('"method":"tools/call"');
      const [own, ...again] = exchanges.filter(isCall);
      expect(again).toEqual([]);
      expect(own).toMatchObject({ method: "POST", status: 200, type: "text/event-stream" });
      await expect
        .poll(() => messagesIn(own!))
        .toEqual([...reports.map(() => "notifications/progress"), "result"]);
      for (const other of exchanges.filter((each) => !isCall(each)))
        expect(other.received).not.toContain("notifications/progress");
    },
  );

  it("P105, C22: compat mode keeps the literal values", async () => {
    const { reports } = await callWorker("seed", {}, { mode: "compat" });
    expect(reports.map((report) => [report.progress, report.total])).toEqual([
      [0, undefined],
      [1, undefined],
      [2, undefined],
      [1, 1],
      [1, 1],
    ]);
  });

  it("coalesces 10,000 reports, keeps the last, and does not hold up the result", async () => {
    const started = performance.now();
    const { result, reports } = await callWorker("flood", { count: 10_000 });
    expect(result.content).toEqual([{ type: "text", text: "done" }]);
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(reports.length).toBeLessThan(200);
    expect(reports.at(-1)).toMatchObject({
      progress: 10_000,
      total: 10_000,
      message: "item 10000",
    });
  });

  it("P094: says that a silent tool still runs", async () => {
    const { reports } = await callWorker("silent", { ms: 400 }, { heartbeatInterval: "100ms" });
    expect(reports.length).toBeGreaterThanOrEqual(2);
    expect(reports[0]!.message).toMatch(/^worker\/silent: still running \(\d+ s\)$/);
  });

  it("P101, P117: without a token there is nothing", async () => {
    const { reports } = await callWorker("flood", { count: 10 }, {}, false);
    expect(reports).toEqual([]);
  });

  it("a heartbeat is no sign of life of the tool: the idle deadline still ends it", async () => {
    const { client } = await setupGateway({
      plugins: [
        worker,
        [progress, { heartbeatInterval: "50ms" }],
        [gating, { state: false, timeouts: { idle: "300ms", default: "10s" } }],
      ],
    });
    const reports: Progress[] = [];
    const result = client.callTool({ name: "silent", arguments: { ms: 5_000 } }, undefined, {
      onprogress: (report) => void reports.push(report as Progress),
    });
    await expect(result).rejects.toThrow(/reported no progress for 300 ms/);
    expect(reports.length).toBeGreaterThan(0);
  });
});
