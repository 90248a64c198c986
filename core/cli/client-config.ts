import { existsSync } from "node:fs";
import { choose } from "../config/checks.ts";
import { CONFIG_NAMES, loadConfig } from "../config/load.ts";
import { GatewayError } from "../errors.ts";
import { endpointUrl } from "./client.ts";
import { clientName } from "./summary.ts";

/** Where a client keeps its servers, and how it writes one. */
interface Client {
  readonly file: string;
  /** Command that does the same, if the client has one. */
  command?(name: string, url: string, withKey: boolean): string;
  snippet(name: string, url: string, withKey: boolean): object;
}

const KEY_VARIABLE = "PROPYLON_API_KEY";

const CLIENTS: Readonly<Record<string, Client>> = {
  claude: {
    file: ".mcp.json",
    command: (name, url, withKey) =>
      `claude mcp add --transport http ${name} ${url}${withKey ? ` --header "Authorization: Bearer $${KEY_VARIABLE}"` : ""}`,
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

/**
 * Prints what to put into a client so that it uses the gateway. The key itself is never printed: the client takes it from a
 * variable or asks for it.
 */
export async function clientConfig(
  client: string,
  target: string | undefined,
  options: { readonly json?: boolean },
): Promise<void> {
  const known = Object.hasOwn(CLIENTS, client) ? CLIENTS[client]! : undefined;
  if (!known)
    throw new GatewayError("invalid", `There is no client "${client}".`, {
      hint: choose(client, Object.keys(CLIENTS)),
    });
  const { name, url, withKey } = await describeTarget(target);
  const json = JSON.stringify(known.snippet(name, url, withKey), null, 2);
  if (options.json) {
    console.log(json);
    return;
  }
  const command = known.command?.(name, url, withKey);
  if (command !== undefined)
    console.log(`Run this:\n\n  ${command}\n\nor put this into ${known.file}:\n`);
  else console.log(`Put this into ${known.file}:\n`);
  console.log(json);
  if (withKey && client !== "vscode")
    console.log(`\nSet ${KEY_VARIABLE} to the key of the gateway.`);
}

async function describeTarget(
  target: string | undefined,
): Promise<{ name: string; url: string; withKey: boolean }> {
  if (target !== undefined && /^https?:/i.test(target))
    return { name: "propylon", url: target, withKey: false };
  const file = target ?? CONFIG_NAMES.find((name) => existsSync(name));
  // Without a config the defaults are what runs, e.g. for propylon -- npx some-server.
  if (file === undefined)
    return { name: "propylon", url: "http://127.0.0.1:8080/mcp", withKey: false };
  const { config } = await loadConfig(file);
  return {
    name: clientName(config.name),
    url:
      config.publicUrl === undefined
        ? endpointUrl(config)
        : publicEndpoint(config.publicUrl, config.endpoints),
    withKey: config.auth.apiKey !== undefined,
  };
}

function publicEndpoint(
  publicUrl: string,
  endpoints: Readonly<Record<string, { readonly path: string }>>,
): string {
  const [first] = Object.values(endpoints);
  return `${publicUrl.replace(/\/+$/, "")}${first?.path ?? "/mcp"}`;
}
