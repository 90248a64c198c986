import { exchange } from "./input.ts";

const ACCEPT = { accept: "application/json, text/event-stream" };
const VERSION = "2025-11-25";
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: VERSION,
    capabilities: { elicitation: {}, sampling: {}, roots: { listChanged: true } },
    clientInfo: { name: "x", version: "1" },
  },
};

/** By URL of the endpoint. */
const sessions = new Map<string, string>();

/** Sends bytes to an MCP endpoint as a client does that has a session: without one nothing but their form would be looked at. */
export async function exchangeInSession(url: string, bytes: Buffer): Promise<void> {
  const id = sessions.get(url) ?? (await open(url));
  sessions.set(url, id);
  const status = await exchange(url, "POST", bytes, headersOf(id));
  if (status === 404) sessions.delete(url);
}

async function open(url: string): Promise<string> {
  const headers = { "content-type": "application/json", ...ACCEPT };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(INITIALIZE) });
  await answer.text();
  const id = answer.headers.get("mcp-session-id");
  if (id === null) throw new Error(`There is no session at ${url}: HTTP ${answer.status}.`);
  const opened = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  await exchange(url, "POST", opened, headersOf(id));
  return id;
}

function headersOf(id: string): Readonly<Record<string, string>> {
  return { ...ACCEPT, "mcp-session-id": id, "mcp-protocol-version": VERSION };
}
