import type { ToolNameView } from "propylon/plugins/admin";
import { useState, type ReactNode } from "react";
import { GATEWAY } from "../../kit/address.ts";
import { Copy } from "../../parts/copy.tsx";
import { CopyCurl } from "../../parts/curl.tsx";
import { Choice } from "../../parts/search.tsx";
import { useAsk } from "../../query.ts";
import { CALL, type CallBody } from "./call.ts";
import { cliCommand, mcpCommand } from "./commands.ts";

type ToolCall = CallBody & { readonly tool: string };

/** The same call for a shell: of the management, of an MCP client, of the command line. */
export function CopyAs({ body }: { readonly body: ToolCall }): ReactNode {
  const { server, tool } = body;
  const query = useAsk<{ endpoints: readonly ToolNameView[] }>(
    "GET /_meta/servers/:server/tools/:tool/names",
    { server, tool },
  );
  const endpoints = query.data?.endpoints ?? [];
  const [chosen, setChosen] = useState("");
  const endpoint = endpoints.find(({ name }) => name === chosen) ?? endpoints[0];
  return (
    <>
      <CopyCurl request={{ route: CALL, body }} />
      {endpoint && <CopyFor endpoint={endpoint} body={body} />}
      {endpoints.length > 1 && (
        <Choice
          label="Endpoint of the copied call"
          value={endpoint!.name}
          onChange={setChosen}
          options={endpoints.map(({ name }) => [name, name] as const)}
        />
      )}
    </>
  );
}

function CopyFor(props: { readonly endpoint: ToolNameView; readonly body: ToolCall }): ReactNode {
  const { path, tool, open } = props.endpoint;
  const { arguments: args, timeout } = props.body;
  const url = new URL(path.replace(/^\//, ""), GATEWAY).href;
  const call = { url, tool, arguments: args, key: !open };
  return (
    <>
      <Copy text={mcpCommand(call)}>Copy as MCP</Copy>
      <Copy text={cliCommand(call, timeout)}>Copy as CLI</Copy>
    </>
  );
}
