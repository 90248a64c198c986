import type { Answer } from "propylon";
import { afterEach, expect, it, vi } from "vitest";
import { deferred } from "../../kit/deferred.ts";
import { FakeServer, post, postModern, serve, text, type Served } from "./kit.ts";

let served: Served | undefined;
afterEach(async () => {
  vi.useRealTimers();
  await served?.close();
  served = undefined;
});

async function sessionOf(url: URL, protocolVersion: string): Promise<Record<string, string>> {
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  const initialize = { jsonrpc: "2.0", id: 0, method: "initialize", params };
  const response = await post(url, initialize);
  await response.json();
  return {
    "mcp-session-id": response.headers.get("mcp-session-id")!,
    "mcp-protocol-version": protocolVersion,
  };
}

it.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])(
  "a silent call of a client of %s sends its first byte within 20 seconds",
  async (version) => {
    const { promise: answer, resolve: finish } = deferred<Answer>();
    const { promise: running, resolve: begun } = deferred();
    const server = new FakeServer("one").tool("wait", () => {
      begun();
      return answer;
    });
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    served = await serve([server]);
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "wait" } };
    const response =
      version === "2026-07-28"
        ? postModern(served.url, 1, "tools/call", { name: "wait" })
        : post(served.url, call, await sessionOf(served.url, version));
    await running;
    vi.advanceTimersByTime(20_000);
    const { body } = await response;
    const reader = body!.getReader();
    const { value } = await reader.read();
    expect((value as Uint8Array).length).toBeGreaterThan(0);
    finish(text("done"));
    await reader.cancel();
  },
);
