import { describe, expect, it } from "vitest";
import { Answer, createLogger, definePlugin, GatewayError } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";

type Line = Record<string, unknown>;

const plugin = definePlugin({
  name: "p",
  setup(gateway) {
    gateway.tool("t", {
      description: "",
      input: { type: "object" },
      run: () => ({ text: "result-canary" }),
    });
    gateway.tool("bad", {
      description: "",
      run: () => {
        throw new Error("result-canary");
      },
    });
    gateway.use("gate", (call, next) => {
      if (call.args?.["denied"])
        throw new GatewayError("forbidden", "You may not.", { data: { why: "argument-canary" } });
      if (call.args?.["refused"])
        return Promise.resolve(Answer.error({ code: -32050, message: "result-canary" }));
      return next(call);
    });
    gateway.resource("r", {
      uri: "canary://user:canary-password@host/file?key=canary-key",
      read: () => ({ uri: "canary://host/file", text: "" }),
    });
  },
});

async function capture(level: "info" | "warn" = "info") {
  const lines: string[] = [];
  const log = await createLogger(
    { level, format: "json" },
    { write: (line) => void lines.push(line) },
  );
  const { gateway, client } = await setupGateway({ plugins: [plugin], log });
  return {
    gateway,
    client,
    lines,
    calls: () => lines.map((line) => JSON.parse(line) as Line).filter(({ msg }) => msg === "call"),
  };
}

describe("the log of calls", () => {
  it("M110: one info line per call, with exactly its fields", async () => {
    const { client, calls } = await capture();
    await client.callTool({ name: "t", arguments: { a: 1 } });
    expect(calls()).toEqual([
      {
        ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        level: "info",
        action: "tools/call",
        server: "p",
        tool: "t",
        duration_ms: expect.any(Number),
        outcome: "ok",
        error_code: null,
        endpoint: "mcp",
        source: "mcp",
        principal: "anonymous:anonymous",
        call: expect.any(String),
        msg: "call",
      },
    ]);
    expect(calls()[0]!["duration_ms"]).toBeGreaterThan(0);
  });

  it("M110: outcome and code name the layer that failed, also for what a gate refused", async () => {
    const { gateway, calls } = await capture();
    const call = (name: string, args = {}, rest = {}): Promise<unknown> =>
      gateway.call({ server: "p", name, args, ...rest }).catch(() => {});
    await call("t");
    await call("bad");
    await call("t", { refused: true });
    await call("t", { denied: true });
    await call("t", {}, { signal: AbortSignal.abort() });
    await call("t", {}, { server: "nobody" });
    expect(calls().map(({ outcome, error_code }) => [outcome, error_code])).toEqual([
      ["ok", null],
      ["tool_error", null],
      ["tool_error", "-32050"],
      ["refused", "forbidden"],
      ["cancelled", "cancelled"],
      ["refused", "not_found"],
    ]);
  });

  it("neither arguments, results, nor the credentials in a URI are in it", async () => {
    const { client, gateway, calls, lines } = await capture();
    await client.callTool({ name: "t", arguments: { a: "argument-canary" } });
    await client.callTool({ name: "bad", arguments: {} });
    await gateway
      .call({ server: "p", name: "t", args: { denied: "argument-canary" } })
      .catch(() => {});
    const uri = "canary://user:canary-password@host/file?key=canary-key";
    await gateway.call({ server: "p", name: uri, method: "resources/read", params: { uri } });
    expect(calls()).toHaveLength(4);
    expect(calls()[3]).toMatchObject({ action: "resources/read", tool: "canary://host/file" });
    for (const line of lines.filter((text) => text.includes('"msg":"call"')))
      expect(line).not.toMatch(/argument-canary|result-canary|canary-password|canary-key/);
  });

  it("above info there is none", async () => {
    const { client, calls } = await capture("warn");
    await client.callTool({ name: "t" });
    expect(calls()).toEqual([]);
  });
});
