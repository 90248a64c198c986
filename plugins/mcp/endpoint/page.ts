import type { ServerResponse } from "node:http";
import { escapeHtml } from "propylon/kit";

/** What a person sees who opens an endpoint in a browser: what it is, and what to do with it. */
export function sendPage(res: ServerResponse, name: string, tools: number): void {
  const html = `<!doctype html>
<meta charset="utf-8">
<title>${escapeHtml(name)}: MCP endpoint</title>
<h1>${escapeHtml(name)}</h1>
<p>This is an MCP endpoint (Model Context Protocol, Streamable HTTP) with ${tools} tools. It is for programs, not for browsers.</p>
<p>Point a client at the address of this page, for example:</p>
<pre>{ "mcpServers": { "${escapeHtml(name)}": { "type": "http", "url": "&lt;the address of this page&gt;" } } }</pre>
<p><code>propylon client-config</code> prints this for Claude, Cursor and VS Code.</p>
`;
  res.writeHead(200, {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'",
    "X-Content-Type-Options": "nosniff",
  });
  res.end(html);
}
