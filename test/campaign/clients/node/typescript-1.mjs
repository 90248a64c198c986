import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { cells, headers, tell, textOf, url, wrongHeaders } from "./cells.mjs";

async function connect(own) {
  const client = new Client(
    { name: "typescript-1", version: "1" },
    { capabilities: { elicitation: { form: {} } } },
  );
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: "accept",
    content: { name: "Ada" },
  }));
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: own } }));
  return client;
}

let client = await connect(headers);
tell("connect", "yes");
const call = async (name, args, options) =>
  textOf(await client.callTool({ name, arguments: args }, undefined, options));

await cells({
  list: async () => (await client.listTools()).tools.map(({ name }) => name),
  /** As a program does: the SDK leaves it to its user to begin anew where the session is gone. */
  async run(name, args) {
    try {
      return await call(name, args);
    } catch (error) {
      if (error.code !== 404) throw error;
      client = await connect(headers);
      return call(name, args);
    }
  },
  async progress() {
    let count = 0;
    await call("slow", {}, { onprogress: () => count++ });
    return count;
  },
  question: () => call("ask", {}),
  wrongKey: () => connect(wrongHeaders),
});
