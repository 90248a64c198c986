import { EventEmitter, once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  CAPABILITIES,
  CLIENT,
  PERSON,
  promptOf,
  type Json,
  type KitClient,
  type ListName,
  type Person,
} from "./client.ts";
import { Heard } from "./heard.ts";
import { loadPeer } from "../peer.ts";

/** Some servers answer the request for their event stream only with its first event: it counts as open then. Milliseconds. */
const STREAM_MS = 500;

type Headers = Readonly<Record<string, string>>;

/** Everything that is used of SDK 1. */
function loadSdk() {
  return loadPeer("@modelcontextprotocol/sdk", async () => ({
    ...(await import("@modelcontextprotocol/sdk/client/index.js")),
    ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
    ...(await import("@modelcontextprotocol/sdk/types.js")),
  }));
}

type Sdk = Awaited<ReturnType<typeof loadSdk>>;

/** The client that nearly everyone has: SDK 1, up to 2025-11-25. */
export async function connectLegacy(
  url: string,
  headers: Headers,
  person = PERSON,
): Promise<KitClient> {
  const sdk = await loadSdk();
  const heard = new Heard();
  const client = new sdk.Client(CLIENT, { capabilities: CAPABILITIES });
  hear(sdk, client, heard, person);
  const { fetch, streaming } = watchStream();
  const transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
    fetch,
    requestInit: { headers },
  });
  await client.connect(transport);
  const capabilities: Json = { ...client.getServerCapabilities() };
  if (capabilities["logging"]) await client.setLoggingLevel("debug");
  return {
    heard,
    server: client.getServerVersion()?.name,
    capabilities,
    call: (name, args, { signal, progress } = {}) =>
      client.callTool({ name, arguments: args }, undefined, {
        ...(signal && { signal }),
        ...(progress && { onprogress: (report) => heard.note("progress", report.message, report) }),
      }),
    list: (name) => listAll(client, name),
    read: (uri) => client.readResource({ uri }),
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: (name, argument, value) =>
      client.complete({ ref: { type: "ref/prompt", name }, argument: { name: argument, value } }),
    unknown: () => client.request({ method: "propylon/unknown" }, sdk.ResultSchema),
    async listen(uris) {
      await Promise.race([streaming, pause(STREAM_MS)]);
      for (const uri of uris) await client.subscribeResource({ uri });
    },
    async close() {
      await transport.terminateSession().catch(() => undefined);
      await client.close();
    },
  };
}

async function listAll(client: Client, name: ListName): Promise<readonly Json[]> {
  const pages: Readonly<Record<ListName, (params: { cursor?: string }) => Promise<Json>>> = {
    tools: (params) => client.listTools(params),
    resources: (params) => client.listResources(params),
    resourceTemplates: (params) => client.listResourceTemplates(params),
    prompts: (params) => client.listPrompts(params),
  };
  const items: Json[] = [];
  let cursor: unknown;
  do {
    const page = await pages[name](typeof cursor === "string" ? { cursor } : {});
    items.push(...(page[name] as Json[]));
    cursor = page["nextCursor"];
  } while (cursor !== undefined);
  return items;
}

function hear(sdk: Sdk, client: Client, heard: Heard, person: Person): void {
  client.setNotificationHandler(sdk.LoggingMessageNotificationSchema, ({ params }) =>
    heard.note("log", (params.data as { nonce?: string } | undefined)?.nonce, params),
  );
  client.setNotificationHandler(sdk.ToolListChangedNotificationSchema, ({ params }) =>
    heard.note("changed", "tools", params),
  );
  client.setNotificationHandler(sdk.PromptListChangedNotificationSchema, ({ params }) =>
    heard.note("changed", "prompts", params),
  );
  client.setNotificationHandler(sdk.ResourceUpdatedNotificationSchema, ({ params }) =>
    heard.note("updated", params.uri, params),
  );
  client.setRequestHandler(sdk.CreateMessageRequestSchema, ({ params }) => {
    heard.note("asked", promptOf(params), params);
    return person.sampled;
  });
  client.setRequestHandler(sdk.ElicitRequestSchema, ({ params }) => {
    heard.note("asked", params.message, params);
    return person.filled;
  });
}

/** The SDK opens its event stream in the background; a check that waits for notifications must know that it is open. */
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
