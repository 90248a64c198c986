import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** What a model is asked. */
export interface Question {
  /** Who spoke last: the user, or a tool that the model called. */
  readonly from: "user" | "tool";
  /** What was said last. */
  readonly text: string;
  /** Names of the tools that it may call. */
  readonly tools: readonly string[];
}

/** What it says, or the tool that it calls. */
export type Reply = string | { readonly call: string; readonly with: object };

/** What is read of a request for a chat completion. */
interface Chat {
  readonly messages?: readonly {
    readonly role: string;
    readonly content?: string | readonly { readonly text?: string }[] | null;
  }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly stream?: boolean;
  readonly model?: string;
}

/**
 * Stands in for a model, so that a test costs nothing and always ends the same way: an HTTP server with OpenAI's chat
 * completions whose answers the test writes. It closes when the test ends.
 *
 * @returns the base URL, for MODEL_URL
 */
export async function startModel(reply: (question: Question) => Reply): Promise<string> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { messages = [], tools = [], stream, model } = await readJson(request);
    const { role, content } = messages.at(-1) ?? {};
    const text = typeof content === "string" ? content : (content ?? []).map(textOf).join("");
    const names = tools.map((tool) => tool.function.name);
    const said = reply({ from: role === "tool" ? "tool" : "user", text, tools: names });
    const head = { id: "reply", created: 0, model };
    const [part, finish_reason] = partOf(said);
    if (!stream) {
      const choices = [{ index: 0, message: { role: "assistant", ...part }, finish_reason }];
      response.setHeader("content-type", "application/json");
      return void response.end(JSON.stringify({ ...head, object: "chat.completion", choices }));
    }
    const choices = [{ index: 0, delta: { role: "assistant", ...part }, finish_reason }];
    const chunk = JSON.stringify({ ...head, object: "chat.completion.chunk", choices });
    response.setHeader("content-type", "text/event-stream");
    response.end(`data: ${chunk}\n\ndata: [DONE]\n\n`);
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

function partOf(reply: Reply): [object, "stop" | "tool_calls"] {
  if (typeof reply === "string") return [{ content: reply }, "stop"];
  const called = { name: reply.call, arguments: JSON.stringify(reply.with) };
  const call = { index: 0, id: crypto.randomUUID(), type: "function", function: called };
  return [{ content: null, tool_calls: [call] }, "tool_calls"];
}

function textOf(part: { text?: string }): string {
  return part.text ?? "";
}

async function readJson(request: AsyncIterable<Buffer>): Promise<Chat> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString() || "{}") as Chat;
}
