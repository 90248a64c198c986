import openapi from "../../../plugins/openapi/index.ts";
import { describe, expect, it } from "vitest";
import { ask, connect, setupTeam } from "../../plugins/agents/kit.ts";

const BODIES = [
  [
    '[{"error":{"code":400,"message":"missing a thought_signature"}}]',
    "missing a thought_signature",
  ],
  ['{"error":"model not found"}', "model not found"],
  ['{"detail":"no such adapter"}', "no such adapter"],
  ['{"object":"error","message":"context is 4096 tokens"}', "context is 4096 tokens"],
] as const;

const start = (raw: string) =>
  setupTeam({
    agents: { a: { description: "Answers." } },
    plugins: [openapi],
    script: [{ status: 400, raw }],
  });

describe("an agent whose provider refuses", () => {
  it.each(BODIES)("rest-14: with %s tells the reason, over MCP", async (raw, reason) => {
    const { urlOf } = await start(raw);
    const { text, isError } = await ask(await connect(urlOf("a")), "a", { message: "hi" });
    expect([isError, text]).toEqual([true, expect.stringContaining(reason)]);
  });

  it.each(BODIES)("rest-14: with %s tells the reason, over HTTP", async (raw, reason) => {
    const { url } = await start(raw);
    const response = await fetch(`${url}/a/a`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ message: "hi" }),
    });
    expect([response.ok, await response.text()]).toEqual([false, expect.stringContaining(reason)]);
  });
});
