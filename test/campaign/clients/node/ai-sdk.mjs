import { ElicitationRequestSchema, createMCPClient } from "@ai-sdk/mcp";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs } from "ai";
import { cells, headers, modelUrl, order, tell, url, wrongHeaders } from "./cells.mjs";

const connect = (own) =>
  createMCPClient({
    transport: { type: "http", url: url.href, headers: own },
    capabilities: { elicitation: {} },
  });

const provider = createOpenAICompatible({ name: "scripted", baseURL: modelUrl });
const client = await connect(headers);
client.onElicitationRequest(ElicitationRequestSchema, () => ({
  action: "accept",
  content: { name: "Ada" },
}));
tell("connect", "yes");
const tools = await client.tools();

async function run(tool, args) {
  const { text } = await generateText({
    model: provider("scripted"),
    tools,
    stopWhen: stepCountIs(4),
    prompt: order(tool, args),
  });
  return text;
}

await cells({
  list: async () => Object.keys(tools),
  run,
  question: () => run("ask", {}),
  wrongKey: async () => Object.keys(await (await connect(wrongHeaders)).tools()),
});
