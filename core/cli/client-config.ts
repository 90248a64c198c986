import { existsSync } from "node:fs";
import { hasCredentials } from "../http/authenticator.ts";
import { choose } from "../loading/checks.ts";
import { CONFIG_NAMES } from "../config/file-names.ts";
import { GatewayError } from "../kit/errors.ts";
import { endpointUrl, parseTarget } from "./mcp-client.ts";
import { type Client, clientName, CLIENTS, keyVariable, offersLogin } from "./client-files.ts";
import { loadHere } from "./source.ts";

/** How the snippet is made. */
interface ClientConfigFlags {
  readonly json?: boolean;
  readonly key?: boolean;
  readonly login?: boolean;
}

/**
 * Prints what to put into a client so that it uses the gateway. The key itself is never printed: the client takes it from a
 * variable, asks for it, or its person writes it into the file.
 */
export async function clientConfig(
  client: string,
  target: string | undefined,
  options: ClientConfigFlags,
): Promise<void> {
  const known = Object.hasOwn(CLIENTS, client) ? CLIENTS[client]! : undefined;
  if (!known)
    throw new GatewayError("invalid", `There is no client "${client}".`, {
      hint: choose(client, Object.keys(CLIENTS)),
    });
  const described = await describeTarget(target);
  const key = keyFor(client, known, described, options);
  const { name, url } = described;
  const snippet = JSON.stringify(known.snippet(name, url, key), null, 2);
  if (options.json) {
    console.log(snippet);
    return;
  }
  console.log(`${introduction(known, name, url, key)}\n`);
  console.log(snippet);
  const last =
    key === undefined
      ? loginWords(described.hasLogin || options.login)
      : keyWords(client, known, key);
  if (last !== undefined) console.log(`\n${last}`);
}

/** Where people log in, clients do; some look for that even when they were given a key. */
function keyFor(
  client: string,
  { takesKey }: Client,
  { hasKey, hasLogin, variable }: Described,
  { key, login }: ClientConfigFlags,
): string | undefined {
  const isLogin = login || (hasLogin && !key);
  if (isLogin || !(hasKey || key)) return undefined;
  if (takesKey) return variable;
  throw new GatewayError("invalid", `${client} sends no key, it only logs in.`, {
    hint: "Let people log in at an endpoint of the gateway, with the plugin oauth.",
  });
}

function introduction(
  { file, steps, command }: Client,
  name: string,
  url: string,
  key: string | undefined,
): string {
  const words = command?.(name, url, key);
  if (words !== undefined) return `Run this:\n\n  ${words}\n\nor put this into ${file}:`;
  return file === undefined ? `Enter this in ${steps}:` : `Put this into ${file}:`;
}

function loginWords(hasLogin: boolean | undefined): string | undefined {
  return hasLogin ? "The client opens a browser, where you log in." : undefined;
}

function keyWords(client: string, { holdsKey }: Client, key: string): string | undefined {
  if (holdsKey) return "Write the key of the gateway in place of <the key>.";
  if (client === "vscode") return undefined;
  return `Set ${key} to the key of the gateway where the client runs.`;
}

/** What a client has to know about a gateway. */
interface Described {
  readonly name: string;
  readonly url: string;
  readonly hasKey: boolean;
  /** Whether people log in. */
  readonly hasLogin: boolean;
  /** Where a client takes the key from. */
  readonly variable: string;
}

async function describeTarget(target: string | undefined): Promise<Described> {
  const unknown = { name: "propylon", hasKey: false, hasLogin: false, variable: keyVariable() };
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
    hasLogin: offersLogin(
      Object.keys(config.plugins).filter((plugin) => (config.plugins[plugin] ?? false) !== false),
    ),
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
