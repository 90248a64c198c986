import openapi from "../../../plugins/openapi/index.ts";
import { definePlugin } from "propylon";
import { describe, expect, it } from "vitest";
import { ask, connect, setupTeam } from "../../plugins/agents/kit.ts";

const echo = definePlugin({
  name: "t",
  setup: (gateway) => gateway.tool("echo", { description: "Echoes.", run: () => "echoed" }),
});

/** A streamed answer of Gemini's OpenAI face: calls, each with the signature of a thought. */
function thinking(...signatures: readonly (string | undefined)[]): string {
  const calls = signatures.map((signature, index) => ({
    index,
    id: `c${index}`,
    type: "function",
    function: { name: "t__echo", arguments: "{}" },
    ...(signature !== undefined && { extra_content: { google: { thought_signature: signature } } }),
  }));
  const choice = (delta: object, finish: string | null) => ({
    id: "1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const events = [choice({ role: "assistant", tool_calls: calls }, null), choice({}, "tool_calls")];
  return `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
}

/** A call of a history, as the provider gets it back. */
interface SentCall {
  readonly extra_content?: { readonly google: { readonly thought_signature: string } };
}

async function start(...answers: readonly string[]) {
  const team = await setupTeam({
    agents: { a: { description: "Answers.", servers: ["t"] } },
    plugins: [echo, openapi],
    script: [...answers.map((raw) => ({ raw })), { text: "Done." }],
  });
  /** The signatures in a request to the model, in order. */
  const sent = (at: number): readonly unknown[] => {
    const messages = team.model.requests[at]!.body["messages"] as { tool_calls?: SentCall[] }[];
    const calls = messages.flatMap(({ tool_calls: made = [] }) => made);
    return calls.map(({ extra_content: extra }) => extra?.google.thought_signature);
  };
  return { ...team, sent };
}

describe("the signature of a thought, of a provider that is not called google", () => {
  it("rest-09: goes back with its call, over MCP", async () => {
    const { urlOf, sent } = await start(thinking("SIG123"));
    const said = await ask(await connect(urlOf("a")), "a", { message: "hi" });
    expect(said).toEqual({ text: "Done.", isError: false });
    expect(sent(1)).toEqual(["SIG123"]);
  });

  it("rest-09: goes back with its call, over HTTP", async () => {
    const { url, sent } = await start(thinking("SIG123"));
    const response = await fetch(`${url}/a/a`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ message: "hi" }),
    });
    expect([response.status, sent(1)]).toEqual([200, ["SIG123"]]);
  });

  it("rest-09: goes back with the first of two calls, which alone has one", async () => {
    const { urlOf, sent } = await start(thinking("SIG1", undefined));
    await ask(await connect(urlOf("a")), "a", { message: "hi" });
    expect(sent(1)).toEqual(["SIG1", undefined]);
  });

  it("rest-09: goes back in every later turn", async () => {
    const { urlOf, sent } = await start(thinking("SIG1"), thinking("SIG2"));
    await ask(await connect(urlOf("a")), "a", { message: "hi" });
    expect(sent(2)).toEqual(["SIG1", "SIG2"]);
  });
});
