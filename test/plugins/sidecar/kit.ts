import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { jetstream, type JetStreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import type { SendMessageRequest, Task } from "propylon/contract";
import { onTestFinished } from "vitest";
import { freePort, setupGateway, type TestGateway } from "../../../core/testing/index.ts";
import sidecar, { TaskQueue, type TaskQueueService } from "../../../plugins/sidecar/index.ts";
import { definePlugin } from "../../../core/index.ts";
import { startNats } from "../../fixtures/nats/nats.mjs";
import type { NatsServer } from "../../fixtures/nats/types.ts";
import { requireProgram } from "../../fixtures/programs.ts";

export { until } from "../../kit/until.ts";

/** Body of a task's request. */
export interface AskedBody {
  readonly message: { readonly taskId?: string; readonly messageId?: string };
}

/** A request that the scripted runtime got. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: AskedBody | undefined;
}

export type Answer = (asked: Asked, res: ServerResponse) => void | Promise<void>;

/** A runtime whose every answer a test decides. */
export interface ScriptedRuntime {
  readonly url: string;
  readonly asked: Asked[];
  /** Requests for tasks only. */
  readonly tasks: Asked[];
  /** How it answers by path; a path without one is 404. */
  readonly answers: Record<string, Answer>;
  close(): Promise<void>;
}

export const CARD = {
  name: "scripted",
  description: "Answers as told.",
  version: "1.0.0",
  defaultInputModes: ["text"],
  defaultOutputModes: ["text"],
  skills: [{ id: "work", name: "Work", description: "Works.", tags: ["test"] }],
  capabilities: { streaming: false },
};

/** The id that a runtime answers with (R022). */
export function idOf({ body }: Asked): string {
  return body!.message.taskId ?? body!.message.messageId!;
}

export function completed(id: string, text = "done"): Task {
  return { id, status: { state: "completed" }, artifacts: [{ parts: [{ text }] }] };
}

export function sendJson(res: ServerResponse, value: unknown, status = 200): void {
  res.writeHead(status, { "content-type": "application/json" });
  res.end(typeof value === "string" ? value : JSON.stringify(value));
}

/** @param port one that must be free; default: any */
export async function startRuntime(
  answers: Record<string, Answer> = {},
  port = 0,
): Promise<ScriptedRuntime> {
  const asked: Asked[] = [];
  const all: Record<string, Answer> = {
    "/health": (_, res) => sendJson(res, { status: "ok" }),
    "/.well-known/agent-card.json": (_, res) => sendJson(res, CARD),
    "/": (request, res) => sendJson(res, completed(idOf(request))),
    ...answers,
  };
  const server = createServer((req, res) => void answer(req, res));
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const { method = "", url: path = "", headers } = req;
    const request = {
      method,
      path,
      headers,
      body: text === "" ? undefined : (JSON.parse(text) as AskedBody),
    };
    asked.push(request);
    await (all[path] ?? ((_: Asked, out: ServerResponse) => sendJson(out, {}, 404)))(request, res);
  };
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  onTestFinished(close);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    get tasks() {
      return asked.filter(({ method }) => method === "POST");
    },
    answers: all,
    close,
  };
}

/** A gateway with a sidecar, and its queue as another plugin sees it. */
export async function startSidecar(
  options: Record<string, unknown>,
): Promise<TestGateway & { readonly queue: TaskQueueService }> {
  let queue: TaskQueueService | undefined;
  const peek = definePlugin({
    name: "peek",
    inject: { queue: TaskQueue },
    setup: ({ services }) => void (queue = services.queue),
  });
  const started = await setupGateway({ plugins: [[sidecar, options], peek], client: false });
  return { ...started, queue: queue! };
}

export interface Bus {
  readonly server: NatsServer;
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
}

/** A nats-server of this test, with a connection of the test's own. @param config text of the server's config file */
export async function startBus(config?: string): Promise<Bus> {
  requireProgram("nats-server");
  const server = await startNats(await freePort(), config);
  onTestFinished(() => server.stop());
  const connection = await connect({
    servers: server.url,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 50,
  });
  onTestFinished(() => connection.close());
  const manager = await jetstream(connection).jetstreamManager();
  return { server, connection, manager };
}

export async function statusOf(url: string): Promise<Status> {
  return (await (await fetch(`${url}/sidecar`)).json()) as Status;
}

export function user(text: string, ids: object = {}): SendMessageRequest {
  return { message: { role: "user", parts: [{ text }], ...ids } };
}

/** What `GET /sidecar` says, as far as tests look. */
export interface Status {
  readonly state: string;
  readonly reason: string | null;
  readonly contractVersions: readonly string[];
  readonly running: readonly string[];
  readonly queue: {
    readonly connected: boolean;
    readonly reason?: string;
    readonly server?: string;
  };
  readonly runtime: {
    readonly url: string;
    readonly healthy: boolean;
    readonly pid?: number;
    readonly streaming: boolean;
    readonly contractVersion: string | null;
  };
}
