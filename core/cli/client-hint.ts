import type { Config } from "../config/config.ts";

/**
 * The variable that clients take the key from, so that no config of theirs contains it: the one that `auth.apiKey` of the gateway
 * is taken from, else `PROPYLON_API_KEY`, as of `call` and `tools`.
 */
export function keyVariable(gateway?: Pick<Config, "places">): string {
  const written = gateway?.places.expandedAt(["auth", "apiKey"])?.raw ?? "";
  return /^\$\{(?:env:)?(\w+)(?::-[^}]*)?\}$/.exec(written)?.[1] ?? "PROPYLON_API_KEY";
}

/**
 * A name that every client accepts for a server.
 *
 * @example const name = clientName("@team/gateway");
 */
export function clientName(name: string): string {
  return (
    name
      .split("/")
      .at(-1)!
      .replaceAll(/[^A-Za-z0-9_-]/g, "-")
      .slice(0, 40) || "propylon"
  );
}

/** The command that adds a gateway to Claude Code; the key stays in a variable of the shell. */
export function claudeCommand(name: string, url: string, key: string | undefined): string {
  const header = key === undefined ? "" : ` --header "Authorization: Bearer $${key}"`;
  return `claude mcp add --transport http ${name} ${shellWord(url)}${header}`;
}

/** One word of POSIX sh; zsh reads the brackets of an IPv6 address as a pattern. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
