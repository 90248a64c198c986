import { describe, expect, it, onTestFinished } from "vitest";
import { connectClient, testPlugin } from "../../../core/testing/index.ts";
import agents from "../../../plugins/agents/index.ts";
import { setupTeam } from "./kit.ts";

testPlugin(agents, {
  config: { agents: { research: { model: "none/none" } } },
  changed: { agents: { research: { model: "none/none", title: "Research" } } },
});

describe("an agent driven by a model", () => {
  it("P006, P008, P100: is an MCP server on its own port, with a tool of its name that takes a message", async () => {
    const { urlOf } = await setupTeam({
      agents: { harper: { description: "Answers.", listener: { port: 0 } } },
      script: [{ text: "Hello back." }],
    });
    expect(new URL(urlOf("harper")).pathname).toBe("/mcp");
    const client = await connectClient(urlOf("harper"));
    onTestFinished(() => client.close());
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["harper"]);
    const result = await client.callTool({ name: "harper", arguments: { message: "Hello" } });
    expect(result).toMatchObject({ content: [{ type: "text", text: "Hello back." }] });
  });
});
