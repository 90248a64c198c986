import { z } from "zod";
import { afterEach, describe, expect, it } from "vitest";
import type { Upstream } from "../../../core/upstream/upstream.ts";
import { callText, makeUpstream, reached } from "./support/calls.ts";
import { type Running, serveNew, serveOld } from "./support/servers.ts";

const open: (Running | Upstream)[] = [];
afterEach(async () => {
  for (const each of open.splice(0).toReversed())
    await ("requests" in each ? each.close() : each.close(0));
});

function use<T extends Running | Upstream>(each: T): T {
  open.push(each);
  return each;
}

describe("Streamable HTTP", () => {
  it("lists and calls tools of a legacy server", async () => {
    const server = use(
      await serveOld((mcp) =>
        mcp.registerTool("echo", { inputSchema: { text: z.string() } }, ({ text }) => ({
          content: [{ type: "text", text }],
        })),
      ),
    );
    const upstream = use(makeUpstream({ url: server.url }));
    upstream.start();
    await reached(upstream, "ready");
    expect(upstream.status).toMatchObject({
      era: "legacy",
      protocolVersion: "2025-11-25",
      transport: "streamable-http",
    });
    expect(upstream.catalogue.tools.map((tool) => tool.name)).toEqual(["echo"]);
    expect(await callText(upstream, "echo", { text: "hallo" })).toBe("hallo");
  });

  it("lists and calls tools of a modern server", async () => {
    const server = use(
      await serveNew(
        (mcp) =>
          void mcp.registerTool(
            "echo",
            { inputSchema: z.object({ text: z.string() }) },
            ({ text }) => ({ content: [{ type: "text", text }] }),
          ),
      ),
    );
    const upstream = use(makeUpstream({ url: server.url }));
    upstream.start();
    await reached(upstream, "ready");
    expect(upstream.status).toMatchObject({ era: "modern", protocolVersion: "2026-07-28" });
    expect(upstream.catalogue.tools.map((tool) => tool.name)).toEqual(["echo"]);
    expect(await callText(upstream, "echo", { text: "hallo" })).toBe("hallo");
  });
});
