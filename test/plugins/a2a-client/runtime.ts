import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** What a runtime of contract v1 does with a message. */
export type Reaction = (message: WireMessage, res: ServerResponse, accept: string) => void;

/** A message as it came over the wire. */
export interface WireMessage {
  readonly messageId: string;
  readonly role: string;
  readonly taskId?: string;
  readonly contextId?: string;
  readonly parts: readonly { readonly text?: string }[];
  readonly metadata?: Record<string, unknown>;
}

/** A scripted runtime of contract v1. */
export interface TestRuntime {
  readonly url: string;
  readonly messages: WireMessage[];
  readonly headers: IncomingHttpHeaders[];
  /** Tasks whose connection was closed before they were answered. */
  left: number;
  card: unknown;
  health: number;
}

/** Starts one; it ends with the test. */
export async function startRuntime(react: Reaction, streaming = false): Promise<TestRuntime> {
  const runtime = {
    messages: [] as WireMessage[],
    headers: [] as IncomingHttpHeaders[],
    left: 0,
    health: 200,
    card: {
      name: "runtime",
      description: "A runtime of contract v1.",
      version: "1.0.0",
      defaultInputModes: ["text"],
      defaultOutputModes: ["text"],
      skills: [{ id: "talk", name: "Talk", description: "Talks.", tags: ["talk"] }],
      capabilities: { streaming },
    } as unknown,
  };
  const origin = await serve((req, res) => {
    if (req.url === "/.well-known/agent-card.json") return reply(res, 200, runtime.card);
    if (req.url === "/health") return reply(res, runtime.health, { status: "ok" });
    let body = "";
    req.on("data", (chunk: Buffer) => (body += chunk.toString()));
    req.on("end", () => {
      const { message } = JSON.parse(body) as { message: WireMessage };
      runtime.messages.push(message);
      runtime.headers.push(req.headers);
      res.on("close", () => (runtime.left += res.writableFinished ? 0 : 1));
      react(message, res, req.headers.accept ?? "");
    });
  });
  return Object.assign(runtime, { url: origin });
}

/** Starts a plain HTTP server; it ends with the test. @returns its origin */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Answers with JSON. */
export function reply(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** Answers with events, and ends. */
export function tell(res: ServerResponse, ...events: unknown[]): void {
  res.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) res.write(`data: ${JSON.stringify(event)}\n\n`);
  res.end();
}
