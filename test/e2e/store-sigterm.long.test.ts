import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { startModel } from "../fixtures/model/model.mjs";
import { until } from "../kit/until.ts";
import { GatewayProcess, usePlace, workerOf } from "./gateway-process.ts";
import { PATIENCE } from "../fixtures/ci.ts";

/** Of this: 100 conversations, 50 agents and 20 webhooks in the campaign. */
const SHARE = Number(process.env["DEPLOY_SHARE"] ?? 0.1);
const CONVERSATIONS = 100 * SHARE;
const AGENTS = 50 * SHARE;
const WEBHOOKS = 20 * SHARE;
const LIMIT = 60_000;

const place = usePlace();

/** What stands at a place of an answer. */
function dig(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((part, name) => (part as Record<string, unknown> | undefined)?.[name], value);
}

/** A receiver that is down until it is told otherwise. */
async function startReceiver() {
  const received: { id: string; task: string; state: string }[] = [];
  const receiver = { isUp: false, received, url: "" };
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const body = JSON.parse(text) as Record<string, unknown>;
      const told = body["task"] ?? body["statusUpdate"];
      if (receiver.isUp && told)
        received.push({
          id: String(request.headers["webhook-id"]),
          task: String(dig(told, "id") ?? dig(told, "taskId")),
          state: String(dig(told, "status", "state")),
        });
      response.writeHead(receiver.isUp ? 204 : 503).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return receiver;
}

it(
  "behind a SIGTERM everything goes on or has ended with a reason",
  { timeout: PATIENCE * 300_000 },
  async () => {
    const model = await startModel({
      script: ({ text }) =>
        text.startsWith("long") ? { text: "late", delay: 60_000 } : { text: `heard ${text}` },
    });
    onTestFinished(() => model.close());
    const receiver = await startReceiver();
    const gateway = await GatewayProcess.create(place, (port) => configOf(port, model.url));
    const { url } = gateway;
    const post = async (path: string, body: unknown): Promise<unknown> => {
      const response = await fetch(url + path, {
        method: "POST",
        headers: { "content-type": "application/json", "a2a-version": "1.0" },
        body: JSON.stringify(body),
      });
      return await response.json();
    };
    const send = async (text: string, contextId: string, rest: object = {}): Promise<unknown> => {
      const answer = await post("/a2a", {
        jsonrpc: "2.0",
        id: 1,
        method: "SendMessage",
        params: {
          message: { messageId: randomUUID(), contextId, role: "ROLE_USER", parts: [{ text }] },
          configuration: { returnImmediately: text.startsWith("long"), ...rest },
        },
      });
      expect(dig(answer, "error")).toBeUndefined();
      return answer;
    };
    const hook = { taskPushNotificationConfig: { url: receiver.url } };

    await gateway.begin("/health");
    const contexts = Array.from({ length: CONVERSATIONS }, (_, at) => `c-${at}`);
    await Promise.all(contexts.map((context) => send(`I am ${context}.`, context)));
    const running = await Promise.all(
      Array.from({ length: WEBHOOKS }, async (_, at) =>
        String(dig(await send(`long ${at}`, `w-${at}`, hook), "result", "task", "id")),
      ),
    );
    const agents = await Promise.all(
      Array.from({ length: AGENTS }, async () =>
        String(dig(await post("/api/agents", { contract: "long work", start: true }), "agent_id")),
      ),
    );
    expect(await gateway.kill("SIGTERM")).toBe(0);

    receiver.isUp = true;
    await gateway.begin("/health");
    // Conversations go on.
    await Promise.all(contexts.map((context) => send(`Who is ${context}?`, context)));
    const told = model.requests.map(({ body }) => JSON.stringify(body["messages"]));
    const forgotten = contexts.filter(
      (context) =>
        !told.some(
          (text) => text.includes(`Who is ${context}?`) && text.includes(`I am ${context}.`),
        ),
    );
    expect(forgotten).toEqual([]);
    // What was under way has ended, and says why.
    const ends = await Promise.all(
      running.map(async (id) => {
        const answer = await post("/a2a", {
          jsonrpc: "2.0",
          id: 1,
          method: "GetTask",
          params: { id },
        });
        const status = dig(answer, "result", "status");
        return `${String(dig(status, "state"))}: ${JSON.stringify(dig(status, "message", "parts"))}`;
      }),
    );
    expect(new Set(ends)).toEqual(
      new Set(['TASK_STATE_FAILED: [{"text":"canceled by shutdown"}]']),
    );
    const stops = await Promise.all(
      agents.map(async (id) => {
        const status = await (await fetch(`${url}/api/agents/${id}`)).json();
        return `${String(dig(status, "status"))}: ${String(dig(status, "stop_reason"))}`;
      }),
    );
    expect(new Set(stops)).toEqual(new Set(["stopped: shutdown"]));
    // Webhooks are told the end, each under one id.
    const isTold = (id: string): boolean =>
      receiver.received.some(({ task, state }) => task === id && state === "TASK_STATE_FAILED");
    await until(() => running.every(isTold), LIMIT);
    const ids = running.map(
      (id) =>
        new Set(
          receiver.received
            .filter(({ task, state }) => task === id && state === "TASK_STATE_FAILED")
            .map((each) => each.id),
        ).size,
    );
    expect(new Set(ids)).toEqual(new Set([1]));
  },
);

function configOf(port: number, model: string): object {
  return {
    store: "sqlite:./data/gateway.db",
    listeners: { main: { port } },
    timeouts: { grace: "500ms" },
    plugins: {
      agents: workerOf(model),
      a2a: {
        listener: "main",
        path: "/a2a",
        skills: [{ id: "work", agent: "worker" }],
        push: { enabled: true, allow: ["127.0.0.0/8"], retries: 10, timeout: "1s" },
        // All conversations are of one principal.
        tasks: { cancelTimeout: "500ms", maxRunning: 200, maxShare: 1 },
      },
      lifecycle: { concurrency: 100 },
    },
  };
}
