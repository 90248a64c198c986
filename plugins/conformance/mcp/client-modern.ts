import type { Client } from "@modelcontextprotocol/client";
import { z } from "zod";
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

/** A client of the current revision: SDK 2 at 2026-07-28, with no way back to the old era. */
export async function connectModern(
  url: string,
  headers: Readonly<Record<string, string>>,
  person = PERSON,
): Promise<KitClient> {
  const sdk = await loadPeer(
    "@modelcontextprotocol/client",
    () => import("@modelcontextprotocol/client"),
  );
  const heard = new Heard();
  const client = new sdk.Client(CLIENT, {
    capabilities: CAPABILITIES,
    versionNegotiation: { mode: { pin: "2026-07-28" } },
  });
  hear(client, heard, person);
  const requestInit = { headers };
  await client.connect(new sdk.StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return {
    heard,
    server: client.getServerVersion()?.name,
    capabilities: { ...client.getServerCapabilities() },
    call: (name, args, { signal, progress } = {}) =>
      client.callTool(
        { name, arguments: args, _meta: { [sdk.LOG_LEVEL_META_KEY]: "debug" } },
        {
          ...(signal && { signal }),
          ...(progress && {
            onprogress: (report) => heard.note("progress", report.message, report),
          }),
        },
      ),
    list: (name) => listAll(client, name),
    read: (uri) => client.readResource({ uri }),
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: (name, argument, value) =>
      client.complete({ ref: { type: "ref/prompt", name }, argument: { name: argument, value } }),
    unknown: () => client.request({ method: "propylon/unknown", params: {} }, z.looseObject({})),
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

/** The SDK puts the pages of a list together on its own, and would answer a second time from memory. */
async function listAll(client: Client, name: ListName): Promise<readonly Json[]> {
  const fresh = { cacheMode: "refresh" as const };
  if (name === "tools") return (await client.listTools({}, fresh)).tools;
  if (name === "resources") return (await client.listResources({}, fresh)).resources;
  if (name === "prompts") return (await client.listPrompts({}, fresh)).prompts;
  return (await client.listResourceTemplates({}, fresh)).resourceTemplates;
}

function hear(client: Client, heard: Heard, person: Person): void {
  client.setNotificationHandler("notifications/message", ({ params }) =>
    heard.note("log", (params.data as { nonce?: string } | undefined)?.nonce, params),
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
    return person.sampled;
  });
  client.setRequestHandler("elicitation/create", ({ params }) => {
    heard.note("asked", params.message, params);
    return person.filled;
  });
}
