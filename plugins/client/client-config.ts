import { GatewayError } from "propylon";
import { choose, type DescribedTarget, describeTarget } from "propylon/cli";
import { type Client, CLIENTS } from "./client-files.ts";
import { offersLogin } from "./client-guides.ts";

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
  const hasLogin = offersLogin(described.plugins);
  const key = keyFor(client, known, { ...described, hasLogin }, options);
  const { name, url } = described;
  const snippet = JSON.stringify(known.snippet(name, url, key), null, 2);
  if (options.json) {
    console.log(snippet);
    return;
  }
  console.log(`${introduction(known, name, url, key)}\n`);
  console.log(snippet);
  const last =
    key === undefined ? loginWords(known, hasLogin || options.login) : keyWords(client, known, key);
  if (last !== undefined) console.log(`\n${last}`);
}

/** Where people log in, clients do; some look for that even when they were given a key. */
function keyFor(
  client: string,
  { takesKey }: Client,
  { hasKey, hasLogin, variable }: DescribedTarget & { readonly hasLogin: boolean },
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

function loginWords({ login }: Client, hasLogin: boolean | undefined): string | undefined {
  return hasLogin ? (login ?? "The client opens a browser, where you log in.") : undefined;
}

function keyWords(client: string, { holdsKey }: Client, key: string): string | undefined {
  if (holdsKey) return "Write the key of the gateway in place of <the key>.";
  if (client === "vscode") return undefined;
  return `Set ${key} to the key of the gateway where the client runs.`;
}
