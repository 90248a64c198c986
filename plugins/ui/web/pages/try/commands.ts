import { writeJson } from "../../kit/json.ts";
import { quote } from "../../request.ts";

/** A call of a tool at an MCP endpoint. */
export interface EndpointCall {
  readonly url: string;
  /** What the tool is called there. */
  readonly tool: string;
  readonly arguments: unknown;
  /** Whether the endpoint wants a key; it is a variable then, since what is copied is pasted into chats. */
  readonly key: boolean;
}

/** Revision of MCP whose requests need no session, so that one of them is a whole call. */
const REVISION = "2026-07-28";
const META = "io.modelcontextprotocol/";

/** The message that an MCP client sends, for a shell. */
export function mcpCommand(call: EndpointCall): string {
  const message = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: {
      name: call.tool,
      arguments: call.arguments,
      _meta: {
        [`${META}protocolVersion`]: REVISION,
        [`${META}clientInfo`]: { name: "curl", version: "1" },
        [`${META}clientCapabilities`]: {},
      },
    },
  };
  const headers = [
    "Content-Type: application/json",
    "Accept: application/json, text/event-stream",
    `MCP-Protocol-Version: ${REVISION}`,
    "Mcp-Method: tools/call",
    `Mcp-Name: ${call.tool}`,
  ];
  return [
    "curl -sS",
    quote(call.url),
    ...(call.key ? ['-H "Authorization: Bearer $PROPYLON_API_KEY"'] : []),
    ...headers.map((header) => `-H ${quote(header)}`),
    `-d ${quote(writeJson(message))}`,
  ].join(" ");
}

/**
 * The command that makes the same call; it takes a key from `PROPYLON_API_KEY` on its own.
 *
 * @param timeout milliseconds
 */
export function cliCommand(call: EndpointCall, timeout: number | undefined): string {
  return [
    "npx propylon call --json --target",
    quote(call.url),
    ...(timeout === undefined ? [] : ["--timeout", `${timeout}ms`]),
    // The name of a tool may begin as an option does.
    "--",
    quote(call.tool),
    quote(writeJson(call.arguments)),
  ].join(" ");
}
