import { claudeCommand } from "propylon/cli";
import { isLoopback } from "propylon/kit";

/** Where a client keeps its servers, and how it writes one. */
export interface Client {
  /** What its makers call it. */
  readonly title: string;
  /** Its file; absent for a client that is set up in its own pages. */
  readonly file?: string;
  /** Where to enter the URL, for a client without a file. */
  readonly steps?: string;
  /** Whether it sends a key that it was given; some only log in. */
  readonly takesKey: boolean;
  /** Whether the key is put into the file itself, as the client reads no variables and does not ask. */
  readonly holdsKey?: boolean;
  /** How its person logs in, where it does not open a browser itself. */
  readonly login?: string;
  /**
   * Command that does the same, if the client has one.
   *
   * @param key variable that the key is taken from; without it none is sent, and the client logs in where it can
   */
  readonly command?: (name: string, url: string, key: string | undefined) => string;
  snippet(name: string, url: string, key: string | undefined): object;
}

/** Stands where a person writes the key. */
const KEY = "<the key>";

const claudeCode: Client = {
  title: "Claude Code",
  file: ".mcp.json",
  takesKey: true,
  command: claudeCommand,
  snippet: (name, url, key) => ({
    mcpServers: {
      [name]: { type: "http", url, ...(key !== undefined && authorization(`\${${key}}`)) },
    },
  }),
};

/** The clients that `client-config` knows. */
export const CLIENTS: Readonly<Record<string, Client>> = {
  claude: claudeCode,
  "claude-code": claudeCode,
  "claude-desktop": {
    title: "Claude Desktop",
    file: "claude_desktop_config.json",
    takesKey: true,
    holdsKey: true,
    // It starts programs only, and expands no variables: mcp-remote speaks for it, and logs in too.
    snippet: (name, url, key) => ({
      mcpServers: {
        [name]: {
          command: "npx",
          args: [
            "-y",
            "mcp-remote",
            url,
            ...(isPlainHttp(url) ? ["--allow-http"] : []),
            ...(key === undefined ? [] : ["--header", "Authorization:${AUTH_HEADER}"]),
          ],
          ...(key !== undefined && { env: { AUTH_HEADER: `Bearer ${KEY}` } }),
        },
      },
    }),
  },
  "claude-web": {
    title: "Claude on the web",
    steps: "Settings, Connectors, Add custom connector",
    takesKey: false,
    snippet: (name, url) => ({ name, url }),
  },
  chatgpt: {
    title: "ChatGPT",
    steps: "Settings, Connectors (with developer mode on), Create; authentication: OAuth",
    takesKey: false,
    snippet: (name, url) => ({ name, url }),
  },
  cursor: {
    title: "Cursor",
    file: ".cursor/mcp.json",
    takesKey: true,
    snippet: (name, url, key) => ({
      mcpServers: {
        [name]: { url, ...(key !== undefined && authorization(`\${env:${key}}`)) },
      },
    }),
  },
  vscode: {
    title: "VS Code",
    file: ".vscode/mcp.json",
    takesKey: true,
    snippet: (name, url, key) => ({
      ...(key !== undefined && {
        inputs: [
          {
            type: "promptString",
            id: "propylon-key",
            description: "Key of the gateway",
            password: true,
          },
        ],
      }),
      servers: {
        [name]: {
          type: "http",
          url,
          ...(key !== undefined && authorization("${input:propylon-key}")),
        },
      },
    }),
  },
  windsurf: {
    title: "Windsurf",
    file: "~/.codeium/windsurf/mcp_config.json",
    takesKey: true,
    snippet: (name, url, key) => ({
      mcpServers: {
        [name]: { serverUrl: url, ...(key !== undefined && authorization(`\${env:${key}}`)) },
      },
    }),
  },
  "open-webui": {
    title: "Open WebUI",
    steps: "Admin Settings, External Tools, Add Server",
    takesKey: true,
    holdsKey: true,
    login: "With a login: choose OAuth 2.1 as auth, and press Register Client.",
    snippet: (name, url, key) => ({
      type: "MCP (Streamable HTTP)",
      url,
      name,
      ...(key !== undefined && { auth: "Bearer", key: KEY }),
    }),
  },
  n8n: {
    title: "n8n",
    steps: "the node MCP Client Tool",
    takesKey: true,
    holdsKey: true,
    login: "With a login: choose MCP OAuth2 as authentication, and press Connect.",
    snippet: (_name, url, key) => ({
      "Server Transport": "HTTP Streamable",
      "MCP Endpoint URL": url,
      ...(key !== undefined && { Authentication: "Bearer Auth", "Bearer Token": KEY }),
    }),
  },
  langchain: {
    title: "LangChain",
    file: "your program, as the argument of MultiServerMCPClient (langchain-mcp-adapters)",
    takesKey: true,
    holdsKey: true,
    login: "With a login: add auth, an OAuthClientProvider of the MCP SDK for Python.",
    snippet: (name, url, key) => ({
      [name]: {
        transport: "streamable_http",
        url,
        ...(key !== undefined && authorization(KEY)),
      },
    }),
  },
  inspector: {
    title: "MCP Inspector",
    file: "mcp.json, for npx @modelcontextprotocol/inspector --config mcp.json",
    takesKey: true,
    holdsKey: true,
    snippet: (name, url, key) => ({
      mcpServers: {
        [name]: {
          type: "streamable-http",
          url,
          ...(key !== undefined && authorization(KEY)),
        },
      },
    }),
  },
  generic: {
    title: "Any other client",
    file: "the file of the client",
    takesKey: true,
    holdsKey: true,
    snippet: (name, url, key) => ({
      mcpServers: {
        [name]: { type: "http", url, ...(key !== undefined && authorization(KEY)) },
      },
    }),
  },
};

function authorization(key: string): object {
  return { headers: { Authorization: `Bearer ${key}` } };
}

/** Whether mcp-remote refuses a URL unless it is told to take it: without TLS, and not of this machine as it knows it. */
function isPlainHttp(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  // It does not know the one of IPv6.
  return protocol === "http:" && (!isLoopback(hostname) || hostname.startsWith("["));
}
