import type { Json } from "propylon";
import type { Era } from "../../../core/kit/types.ts";

const COMMON = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

/** Calls a tool without any SDK, so that the test chooses the progress token; gives every message of the response. */
export async function callRaw(
  era: Era,
  url: string,
  tool: string,
  args: Json,
  progressToken: unknown,
): Promise<readonly Json[]> {
  const headers = era === "legacy" ? await openSession(url) : modernHeaders(tool);
  const _meta = { progressToken, ...(era === "modern" && MODERN_META) };
  return post(url, headers, {
    id: 1,
    method: "tools/call",
    params: { name: tool, arguments: args, _meta },
  });
}

const MODERN_META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

function modernHeaders(tool: string): Record<string, string> {
  return { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": tool };
}

async function openSession(url: string): Promise<Record<string, string>> {
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "raw", version: "1.0.0" },
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  const response = await fetch(url, { method: "POST", headers: COMMON, body });
  await response.text();
  const headers = {
    "mcp-session-id": response.headers.get("mcp-session-id") ?? "",
    "mcp-protocol-version": "2025-11-25",
  };
  await post(url, headers, { method: "notifications/initialized" });
  return headers;
}

async function post(
  url: string,
  headers: Record<string, string>,
  message: Json,
): Promise<readonly Json[]> {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  const response = await fetch(url, { method: "POST", headers: { ...COMMON, ...headers }, body });
  const text = await response.text();
  if (!response.headers.get("content-type")?.includes("event-stream"))
    return text === "" ? [] : [JSON.parse(text) as Json];
  const lines = text.split("\n").filter((line) => line.startsWith("data:"));
  return lines.map((line) => JSON.parse(line.slice(5)) as Json);
}
