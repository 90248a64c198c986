import { existsSync } from "node:fs";
import { hasCredentials } from "../http/auth/authenticator.ts";
import { choose } from "../config/checks.ts";
import { CONFIG_NAMES } from "../config/file-names.ts";
import { GatewayError } from "../errors.ts";
import { endpointUrl, parseTarget } from "./mcp-client.ts";
import { clientName, CLIENTS, keyVariable } from "./client-files.ts";
import { loadHere } from "./source.ts";

/**
 * Prints what to put into a client so that it uses the gateway. The key itself is never printed: the client takes it from a
 * variable or asks for it.
 */
export async function clientConfig(
  client: string,
  target: string | undefined,
  options: { readonly json?: boolean; readonly key?: boolean },
): Promise<void> {
  const known = Object.hasOwn(CLIENTS, client) ? CLIENTS[client]! : undefined;
  if (!known)
    throw new GatewayError("invalid", `There is no client "${client}".`, {
      hint: choose(client, Object.keys(CLIENTS)),
    });
  const { name, url, hasKey, variable } = await describeTarget(target);
  const key = hasKey || options.key ? variable : undefined;
  const json = JSON.stringify(known.snippet(name, url, key), null, 2);
  if (options.json) {
    console.log(json);
    return;
  }
  const command = known.command?.(name, url, key);
  if (command !== undefined)
    console.log(`Run this:\n\n  ${command}\n\nor put this into ${known.file}:\n`);
  else console.log(`Put this into ${known.file}:\n`);
  console.log(json);
  if (key !== undefined && client !== "vscode")
    console.log(`\nSet ${key} to the key of the gateway where the client runs.`);
}

/** What a client has to know about a gateway. */
interface Described {
  readonly name: string;
  readonly url: string;
  readonly hasKey: boolean;
  /** Where a client takes the key from. */
  readonly variable: string;
}

async function describeTarget(target: string | undefined): Promise<Described> {
  const unknown = { name: "propylon", hasKey: false, variable: keyVariable() };
  if (target !== undefined && /^https?:/i.test(target)) {
    parseTarget(target);
    return { ...unknown, url: target };
  }
  const file = target ?? CONFIG_NAMES.find((name) => existsSync(name));
  // Without a config the defaults are what runs, e.g. for propylon -- npx some-server.
  if (file === undefined) return { ...unknown, url: "http://127.0.0.1:8080/mcp" };
  const loaded = await loadHere(file);
  const config = loaded.config.values;
  return {
    name: clientName(config.name),
    url:
      config.publicUrl === undefined
        ? endpointUrl(config)
        : publicEndpoint(config.publicUrl, config.endpoints),
    hasKey: hasCredentials(config.auth),
    variable: keyVariable(loaded.config),
  };
}

function publicEndpoint(
  publicUrl: string,
  endpoints: Readonly<Record<string, { readonly path: string }>>,
): string {
  const [first] = Object.values(endpoints);
  return `${publicUrl.replace(/\/+$/, "")}${first?.path ?? "/mcp"}`;
}
