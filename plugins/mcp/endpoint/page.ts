import type { ServerResponse } from "node:http";
import { htmlPage, markup } from "propylon/internal";

/** What a person sees who opens an endpoint in a browser: what it is, and what to do with it. */
export function sendPage(res: ServerResponse, name: string, tools: number): void {
  const { text, headers } = htmlPage({
    title: `${name}: MCP endpoint`,
    body: markup`<p>This is an MCP endpoint (Model Context Protocol, Streamable HTTP) with ${tools} tools. It is for programs, not for browsers.</p>
<p>Point a client at the address of this page, for example:</p>
<pre>{ "mcpServers": { "${name}": { "type": "http", "url": "&lt;the address of this page&gt;" } } }</pre>
<p><code>propylon client-config</code> prints this for Claude, Cursor and VS Code.</p>`,
  });
  res.writeHead(200, headers);
  res.end(text);
}
