/** Where a client keeps its servers, and how it writes one. */
export interface Client {
  readonly file: string;
  /** Command that does the same, if the client has one. */
  command?(name: string, url: string, withKey: boolean): string;
  snippet(name: string, url: string, withKey: boolean): object;
}

/** Where clients take the key from, so that no config of theirs contains it. */
export const KEY_VARIABLE = "PROPYLON_API_KEY";

/** The clients that `client-config` knows. */
export const CLIENTS: Readonly<Record<string, Client>> = {
  claude: {
    file: ".mcp.json",
    command: claudeCommand,
    snippet: (name, url, withKey) => ({
      mcpServers: {
        [name]: { type: "http", url, ...(withKey && authorization(`\${${KEY_VARIABLE}}`)) },
      },
    }),
  },
  cursor: {
    file: ".cursor/mcp.json",
    snippet: (name, url, withKey) => ({
      mcpServers: { [name]: { url, ...(withKey && authorization(`\${env:${KEY_VARIABLE}}`)) } },
    }),
  },
  vscode: {
    file: ".vscode/mcp.json",
    snippet: (name, url, withKey) => ({
      ...(withKey && {
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
        [name]: { type: "http", url, ...(withKey && authorization("${input:propylon-key}")) },
      },
    }),
  },
};

function authorization(key: string): object {
  return { headers: { Authorization: `Bearer ${key}` } };
}

/** The command that adds a gateway to Claude Code; the key stays in a variable of the shell. */
export function claudeCommand(name: string, url: string, withKey: boolean): string {
  const header = withKey ? ` --header "Authorization: Bearer $${KEY_VARIABLE}"` : "";
  return `claude mcp add --transport http ${name} ${url}${header}`;
}

/** A name that every client accepts for a server. */
export function clientName(name: string): string {
  return (
    name
      .split("/")
      .at(-1)!
      .replaceAll(/[^A-Za-z0-9_-]/g, "-")
      .slice(0, 40) || "propylon"
  );
}
