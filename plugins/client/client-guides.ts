import { shellWord } from "propylon/cli";
import { type Client, CLIENTS } from "./client-files.ts";

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
  const where = `${file === undefined ? steps! : `In ${file}`}${byHand}`;
  const text = JSON.stringify(client.snippet(name, url, key), null, 2);
  return [
    ...(words === undefined ? [] : [{ title, where: "In a shell", text: words }]),
    { title, where, text },
  ];
}
