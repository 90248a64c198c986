import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { cells, headers, tell, textOf, url, wrongHeaders } from "./cells.mjs";

async function connect(own) {
  const client = new Client(
    { name: "typescript-2", version: "1" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } },
  );
  client.setRequestHandler("elicitation/create", () => ({
    action: "accept",
    content: { name: "Ada" },
  }));
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: own } }));
  return client;
}

const client = await connect(headers);
tell("connect", "yes");
const call = async (name, args, options) =>
  textOf(await client.callTool({ name, arguments: args }, options));

await cells({
  list: async () => (await client.listTools()).tools.map(({ name }) => name),
  run: call,
  async progress() {
    let count = 0;
    await call("slow", {}, { onprogress: () => count++ });
    return count;
  },
  question: () => call("ask", {}),
  wrongKey: () => connect(wrongHeaders),
});
