import type { Config } from "../config/config.ts";

/** Where a client keeps its servers, and how it writes one. */
export interface Client {
  readonly file: string;
  /**
   * Command that does the same, if the client has one.
   *
   * @param key variable that the key is taken from; without it none is sent
   */
  command?(name: string, url: string, key: string | undefined): string;
  snippet(name: string, url: string, key: string | undefined): object;
}

/**
 * The variable that clients take the key from, so that no config of theirs contains it: the one that `auth.apiKey` of the gateway
 * is taken from, else `PROPYLON_API_KEY`, as of `call` and `tools`.
 */
export function keyVariable(gateway?: Pick<Config, "places">): string {
  const written = gateway?.places.expandedAt(["auth", "apiKey"])?.raw ?? "";
  return /^\$\{(?:env:)?(\w+)(?::-[^}]*)?\}$/.exec(written)?.[1] ?? "PROPYLON_API_KEY";
}

/** The clients that `client-config` knows. */
export const CLIENTS: Readonly<Record<string, Client>> = {
  claude: {
    file: ".mcp.json",
    command: claudeCommand,
    snippet: (name, url, key) => ({
      mcpServers: {
        [name]: { type: "http", url, ...(key !== undefined && authorization(`\${${key}}`)) },
      },
    }),
  },
  cursor: {
    file: ".cursor/mcp.json",
    snippet: (name, url, key) => ({
      mcpServers: {
        [name]: { url, ...(key !== undefined && authorization(`\${env:${key}}`)) },
      },
    }),
  },
  vscode: {
    file: ".vscode/mcp.json",
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
};

function authorization(key: string): object {
  return { headers: { Authorization: `Bearer ${key}` } };
}

/** The command that adds a gateway to Claude Code; the key stays in a variable of the shell. */
export function claudeCommand(name: string, url: string, key: string | undefined): string {
  const header = key === undefined ? "" : ` --header "Authorization: Bearer $${key}"`;
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
