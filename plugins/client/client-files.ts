import { claudeCommand, shellWord } from "propylon/cli";

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
  /**
   * Command that does the same, if the client has one.
   *
   * @param key variable that the key is taken from; without it none is sent, and the client logs in where it can
   */
  readonly command?: (name: string, url: string, key: string | undefined) => string;
  snippet(name: string, url: string, key: string | undefined): object;
}

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
            ...(key === undefined ? [] : ["--header", "Authorization:${AUTH_HEADER}"]),
          ],
          ...(key !== undefined && { env: { AUTH_HEADER: "Bearer <the key>" } }),
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
          ...(key !== undefined && authorization("<the key>")),
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
        [name]: { type: "http", url, ...(key !== undefined && authorization("<the key>")) },
      },
    }),
  },
};

function authorization(key: string): object {
  return { headers: { Authorization: `Bearer ${key}` } };
}

/** Plugins that let people in who log in. */
const LOGINS = ["oauth", "oauth-resource"];

/**
 * Whether people log in at a gateway with these plugins; clients do that on their own, without a key.
 *
 * @example const isLogin = offersLogin(["oauth", "mcp"]);
 */
export function offersLogin(plugins: readonly string[]): boolean {
  return plugins.some((name) => LOGINS.includes(name));
}

/**
 * How one client is set up: a text to copy, and where it goes.
 *
 * @example const titles = clientGuides("gateway", url, undefined).map(({ title }: ClientGuide) => title);
 */
export interface ClientGuide {
  readonly title: string;
  /** A file, a shell, or a page of the client. */
  readonly where: string;
  readonly text: string;
}

/**
 * How every client is set up that can use a gateway this way.
 *
 * @param name of the gateway; as `clientName` makes it
 * @param url of its endpoint
 * @param key variable that clients take the key from; without it they send none, and log in where they have to
 * @example const guides = clientGuides("gateway", "http://127.0.0.1:8080/mcp", "PROPYLON_API_KEY");
 */
export function clientGuides(
  name: string,
  url: string,
  key: string | undefined,
): readonly ClientGuide[] {
  const clients = [...new Set(Object.values(CLIENTS))].filter(
    ({ takesKey }) => takesKey || key === undefined,
  );
  const shell = `npx propylon tools ${shellWord(url)}`;
  return [
    ...clients.flatMap((client) => guidesTo(client, name, url, key)),
    {
      title: "A shell",
      where: `The tools of the endpoint${key === undefined ? "" : `; the key is taken from ${key}`}`,
      text: shell,
    },
  ];
}

function guidesTo(
  client: Client,
  name: string,
  url: string,
  key: string | undefined,
): readonly ClientGuide[] {
  const { title, file, steps, holdsKey } = client;
  const words = client.command?.(name, url, key);
  const byHand = holdsKey && key !== undefined ? "; write the key in place of <the key>" : "";
  const where = file === undefined ? steps! : `In ${file}${byHand}`;
  const text = JSON.stringify(client.snippet(name, url, key), null, 2);
  return [
    ...(words === undefined ? [] : [{ title, where: "In a shell", text: words }]),
    { title, where, text },
  ];
}
