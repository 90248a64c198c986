import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { AgentEvent } from "../../../plugins/progress/service.ts";
import { onTestFinished } from "vitest";
import { Answer } from "propylon";
import type { ChatMessage, ChatPart } from "../../../plugins/agents/model.ts";
import type { ServerCall } from "../../../plugins/agents/loop/calls.ts";
import { runLoop, type LoopInput } from "../../../plugins/agents/loop/loop.ts";
import { Toolbox, type ServerTool } from "../../../plugins/agents/loop/toolbox.ts";
import { createModel } from "../../../plugins/agents/models/models.ts";
import { providersSchema } from "../../../plugins/agents/models/options.ts";
import type { RunResult } from "../../../plugins/agents/service.ts";
import { startModel } from "../../fixtures/model/model.mjs";
import type { ModelServer, Script } from "../../fixtures/model/types.ts";

/** Starts a scripted model server that ends with the test. */
export async function start(
  script: Script,
  options: Omit<NonNullable<Parameters<typeof startModel>[0]>, "script"> = {},
): Promise<ModelServer> {
  const server = await startModel({ ...options, script });
  onTestFinished(() => server.close());
  return server;
}

/** A provider that answers as it is told, and keeps what it was asked. @param respond gets the number of the request, from 1 */
export async function provide(respond: (res: ServerResponse, count: number) => void) {
  const bodies: Record<string, unknown>[] = [];
  const server = createServer((req, res) => {
    void json(req).then((body) => {
      bodies.push(body as Record<string, unknown>);
      respond(res, bodies.length);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, bodies };
}

/** The model `m` of a provider `p` at that server. */
export function modelOf(server: Pick<ModelServer, "url">, options: Record<string, unknown> = {}) {
  const provider = { type: "openai-compatible", baseUrl: server.url, backoff: "1ms", ...options };
  return createModel("p/m", providersSchema.parse({ p: provider }));
}

export function user(text: string): ChatMessage {
  return { role: "user", parts: [{ type: "text", text }] };
}

/** A tool of a server, for the model's list. */
export function tool(server: string, name: string): ServerTool {
  return { server, tool: { name, description: `${name}.`, inputSchema: { type: "object" } } };
}

/** A text as a server answers a tool call. */
export function answer(text: string, more: Record<string, unknown> = {}): Answer {
  return Answer.result({ content: [{ type: "text", text }], ...more });
}

/** What a run did and came to. */
export interface Ran {
  readonly result: RunResult;
  readonly events: readonly AgentEvent[];
  readonly calls: readonly ServerCall[];
}

/** Runs the loop with tools `files/read` and `files/list`, which say their arguments, unless told otherwise. */
export async function run(input: Partial<LoopInput> & Pick<LoopInput, "model">): Promise<Ran> {
  const events: AgentEvent[] = [];
  const calls: ServerCall[] = [];
  const { call = (made) => Promise.resolve(answer(`${made.name} ${JSON.stringify(made.args)}`)) } =
    input;
  const result = await runLoop({
    system: "Be brief.",
    messages: [user("Go.")],
    toolbox: new Toolbox([tool("files", "read"), tool("files", "list")]),
    limits: {},
    signal: new AbortController().signal,
    onEvent: (event) => events.push(event),
    ...input,
    call: (made) => {
      calls.push(made);
      return call(made);
    },
  });
  return { result, events, calls };
}

/** The tool results of a conversation, in order. */
export function resultsIn(
  messages: readonly ChatMessage[],
): Extract<ChatPart, { type: "tool-result" }>[] {
  return messages.flatMap(({ parts }) => parts).filter((part) => part.type === "tool-result");
}
