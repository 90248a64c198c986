import type { Client as ModernClient } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

/** How a test's client presents itself. */
export interface ClientOptions {
  /** MCP client capabilities, e.g. `{ sampling: {} }`; default: none. */
  readonly capabilities?: Record<string, object>;
  /** Extra request headers, e.g. `authorization`. */
  readonly headers?: Record<string, string>;
}

/** Connects a real MCP client (`@modelcontextprotocol/sdk` 1.x, the client nearly everyone has) to an endpoint. */
export async function connectClient(
  url: string,
  { capabilities = {}, headers = {} }: ClientOptions = {},
): Promise<Client> {
  const client = new Client({ name: "propylon-testing", version: "1.0.0" }, { capabilities });
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  // The SDK's own types disagree with each other under exactOptionalPropertyTypes.
  await client.connect(transport);
  return client;
}

/**
 * Connects a client of the current revision, 2026-07-28, with no way back to the older ones: `@modelcontextprotocol/client` 2.x,
 * which must be installed.
 */
export async function connectModernClient(
  url: string,
  { capabilities = {}, headers = {} }: ClientOptions = {},
): Promise<ModernClient> {
  const sdk = await import("@modelcontextprotocol/client");
  const client = new sdk.Client(
    { name: "propylon-testing", version: "1.0.0" },
    { capabilities, versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  await client.connect(
    new sdk.StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
  );
  return client;
}
