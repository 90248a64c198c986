import {
  Client,
  LOG_LEVEL_META_KEY,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { CAPABILITIES, filled, promptOf, sampled, type RelayClient } from "./person.ts";
import { Heard } from "./heard.ts";

/** A client of the current revision: SDK 2 at 2026-07-28, with no way back to the old era. */
export async function connectModern(url: string, name: string): Promise<RelayClient> {
  const heard = new Heard();
  const client = new Client(
    { name, version: "1.0.0" },
    { capabilities: CAPABILITIES, versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  hear(client, heard, name);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return {
    heard,
    call: (tool, args, { signal, progress } = {}) =>
      client.callTool(
        { name: tool, arguments: args, _meta: { [LOG_LEVEL_META_KEY]: "debug" } },
        {
          ...(signal && { signal }),
          ...(progress && {
            onprogress: (report) => heard.note("progress", report.message, report),
          }),
        },
      ),
    listTools: async () => (await client.listTools()).tools.map((tool) => tool.name),
    async listen(uris) {
      await client.listen({
        toolsListChanged: true,
        promptsListChanged: true,
        resourceSubscriptions: [...uris],
      });
    },
    close: () => client.close(),
  };
}

function hear(client: Client, heard: Heard, name: string): void {
  client.setNotificationHandler("notifications/message", ({ params }) =>
    heard.note("log", (params.data as { nonce?: string }).nonce, params),
  );
  client.setNotificationHandler("notifications/tools/list_changed", ({ params }) =>
    heard.note("changed", "tools", params),
  );
  client.setNotificationHandler("notifications/prompts/list_changed", ({ params }) =>
    heard.note("changed", "prompts", params),
  );
  client.setNotificationHandler("notifications/resources/updated", ({ params }) =>
    heard.note("updated", params.uri, params),
  );
  client.setRequestHandler("sampling/createMessage", ({ params }) => {
    heard.note("asked", promptOf(params), params);
    return sampled(name);
  });
  client.setRequestHandler("elicitation/create", ({ params }) => {
    heard.note("asked", params.message, params);
    return filled(name);
  });
}
