/** The official SDKs as clients. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as second from "@modelcontextprotocol/client";

const WAIT = 120_000;

/** Every tool, as TypeScript SDK 1 or 2 reads it; output schemas are compiled. */
async function read(client, transport) {
  await client.connect(transport);
  const tools = [];
  for (let cursor; ;) {
    const page = await client.listTools(cursor ? { cursor } : {}, { timeout: WAIT });
    tools.push(...page.tools);
    cursor = page.nextCursor;
    if (!cursor) return { client, tools };
  }
}

export function readByFirst(url) {
  return read(
    new Client({ name: "campaign", version: "1" }),
    new StreamableHTTPClientTransport(new URL(url)),
  );
}

export function readBySecond(url) {
  const client = new second.Client(
    { name: "campaign", version: "1" },
    { versionNegotiation: { mode: "auto" } },
  );
  return read(client, new second.StreamableHTTPClientTransport(new URL(url)));
}

/** The Python SDK, in one process for all documents. */
export class PythonClient {
  #child;
  #lines;

  constructor(python) {
    const program = join(import.meta.dirname, "client.py");
    this.#child = spawn(python, [program], { stdio: ["pipe", "pipe", "ignore"] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** Reads every tool, compiles its schemas, and makes one call if there is one. */
  async read(url, call) {
    this.#child.stdin.write(`${JSON.stringify({ url, call })}\n`);
    const { value = '{"error":"it ended"}' } = await this.#lines.next();
    const said = JSON.parse(value);
    if (said.error) throw new Error(`Python: ${said.error}`);
    return said;
  }

  close() {
    this.#child.stdin.end();
  }
}
