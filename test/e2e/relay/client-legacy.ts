import { EventEmitter, once } from "node:events";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { CAPABILITIES, filled, promptOf, sampled, type RelayClient } from "./person.ts";
import { Heard } from "./heard.ts";

/** The client that nearly everyone has: SDK 1, up to 2025-11-25. */
export async function connectLegacy(url: string, name: string): Promise<RelayClient> {
  const heard = new Heard();
  const client = new Client({ name, version: "1.0.0" }, { capabilities: CAPABILITIES });
  hear(client, heard, name);
  const { fetch, streaming } = watchStream();
  const transport = new StreamableHTTPClientTransport(new URL(url), { fetch });
  await client.connect(transport);
  await client.setLoggingLevel("debug");
  return {
    heard,
    call: (tool, args, { signal, progress } = {}) =>
      client.callTool({ name: tool, arguments: args }, undefined, {
        ...(signal && { signal }),
        ...(progress && { onprogress: (report) => heard.note("progress", report.message, report) }),
      }),
    listTools: async () => (await client.listTools()).tools.map((tool) => tool.name),
    async listen(uris) {
      await streaming;
      for (const uri of uris) await client.subscribeResource({ uri });
    },
    async close() {
      await transport.terminateSession();
      await client.close();
    },
  };
}

function hear(client: Client, heard: Heard, name: string): void {
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) =>
    heard.note("log", (params.data as { nonce?: string }).nonce, params),
  );
  client.setNotificationHandler(ToolListChangedNotificationSchema, ({ params }) =>
    heard.note("changed", "tools", params),
  );
  client.setNotificationHandler(PromptListChangedNotificationSchema, ({ params }) =>
    heard.note("changed", "prompts", params),
  );
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) =>
    heard.note("updated", params.uri, params),
  );
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
    heard.note("asked", promptOf(params), params);
    return sampled(name);
  });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    heard.note("asked", params.message, params);
    return filled(name);
  });
}

/** The SDK opens its event stream in the background; whoever waits for notifications must know that it is open. */
function watchStream(): { fetch: typeof globalThis.fetch; streaming: Promise<unknown> } {
  const stream = new EventEmitter();
  return {
    streaming: once(stream, "open"),
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if (init?.method === "GET") stream.emit("open");
      return response;
    },
  };
}
