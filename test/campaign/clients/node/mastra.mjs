import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent } from "@mastra/core/agent";
import { MCPClient } from "@mastra/mcp";
import { cells, headers, modelUrl, order, tell, url, wrongHeaders } from "./cells.mjs";

let count = 0;
const connect = (id, own) =>
  new MCPClient({
    id,
    servers: {
      demo: {
        url,
        requestInit: { headers: own },
        enableProgressTracking: true,
        capabilities: { elicitation: { form: {} } },
        inputRequests: async () => ({ action: "accept", content: { name: "Ada" } }),
      },
    },
  });

const provider = createOpenAICompatible({ name: "scripted", baseURL: modelUrl });
const client = connect("right", headers);
const tools = await client.listTools();
if (Object.keys(tools).length === 0) throw new Error("no tools");
tell("connect", "yes");
await client.progress.onUpdate("demo", () => count++);
const agent = new Agent({
  id: "tester",
  name: "tester",
  instructions: "Do what you are told.",
  model: provider("scripted"),
  tools,
});
const run = async (tool, args) => (await agent.generate(order(tool, args), { maxSteps: 4 })).text;

await cells({
  list: async () => Object.keys(tools),
  run,
  async progress() {
    count = 0;
    await run("slow", {});
    return count;
  },
  question: () => run("ask", {}),
  wrongKey: async () => {
    const { errors } = await connect("wrong", wrongHeaders).listToolsetsWithErrors();
    throw new Error(JSON.stringify(errors));
  },
});
