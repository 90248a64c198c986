import { connectLegacy } from "../../../plugins/conformance/mcp/client-legacy.ts";
import { connectModern } from "../../../plugins/conformance/mcp/client-modern.ts";
import type { Era } from "../../../core/kit/types.ts";
import { personOf, type RelayClient } from "./person.ts";

/** Connects a client that answers every question with its own name. */
export async function connect(era: Era, url: string, name: string): Promise<RelayClient> {
  const connectEra = era === "legacy" ? connectLegacy : connectModern;
  const client = await connectEra(url, {}, personOf(name));
  const listTools = async (): Promise<readonly string[]> =>
    (await client.list("tools")).map((tool) => String(tool["name"]));
  return { ...client, listTools };
}
