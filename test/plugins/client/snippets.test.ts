import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { useCommands } from "../../core/cli/propylon.ts";
import { PAGE, PAGE_URL, snippetsOf } from "./snippets.ts";

const { propylon, propylonEach } = useCommands();

const page = readFileSync(PAGE, "utf8");
const snippets = snippetsOf(page);

describe("the page Connect a client", () => {
  it("shows what client-config prints, for every client that it shows", async () => {
    expect(snippets.length).toBeGreaterThanOrEqual(8);
    const commands = snippets.map(({ client }) => ["client-config", client, PAGE_URL, "--key"]);
    const told = await propylonEach(commands.map((words) => [...words, "--json"]));
    for (const [at, { client, text }] of snippets.entries())
      expect({ client, pasted: JSON.parse(text) as unknown }).toEqual({
        client,
        pasted: JSON.parse(told[at]!.stdout) as unknown,
      });
  });

  it("says truly that a login is the same without the key", async () => {
    const words = (client: string, how: string) => [
      "client-config",
      client,
      PAGE_URL,
      how,
      "--json",
    ];
    for (const { client } of snippets) {
      const [keyed, login] = await propylonEach([words(client, "--key"), words(client, "--login")]);
      expect(keyed!.stdout).toMatch(/the key|PROPYLON_API_KEY|propylon-key/);
      expect(login!.stdout).not.toMatch(/the key|PROPYLON_API_KEY|propylon-key|[Aa]uthorization/);
      expect(login!.stdout).toContain(PAGE_URL);
    }
  });

  it("names every client of client-config, and its command for Claude Code", async () => {
    const { stdout: help } = await propylon(["client-config", "--help"]);
    const listed = /the gateway: ([^]*?)\.\n/.exec(help)![1]!.split(/,\s+|\s+or\s+/);
    expect(listed.length).toBeGreaterThanOrEqual(12);
    for (const name of listed) expect(page).toContain(`\`${name}\``);
    const { stdout } = await propylon(["client-config", "claude-code", PAGE_URL, "--key"]);
    expect(page).toContain(/^ +(claude mcp add .*)$/m.exec(stdout)![1]);
  });

  it("has at most 700 words", () => {
    expect(page.split(/\s+/).filter((word) => /\w/.test(word)).length).toBeLessThanOrEqual(700);
  });
});

it("tells mcp-remote to take a URL that it would refuse: without TLS, on another machine", async () => {
  const argsFor = async (url: string): Promise<readonly string[]> => {
    const { stdout } = await propylon(["client-config", "claude-desktop", url, "--json"]);
    const { mcpServers } = JSON.parse(stdout) as {
      mcpServers: { propylon: { args: readonly string[] } };
    };
    return mcpServers.propylon.args;
  };
  for (const url of ["http://10.0.0.5:8080/mcp", "http://[::1]:8080/mcp"])
    expect(await argsFor(url)).toEqual(["-y", "mcp-remote", url, "--allow-http"]);
  for (const url of ["http://localhost:8080/mcp", PAGE_URL, "https://tools.example/mcp"])
    expect(await argsFor(url)).toEqual(["-y", "mcp-remote", url]);
});

it("says what to do to log in, where a client does not open a browser by itself", async () => {
  const clients = ["open-webui", "n8n", "langchain", "cursor"];
  const told = await propylonEach(
    clients.map((client) => ["client-config", client, PAGE_URL, "--login"]),
  );
  expect(told.map(({ stdout }) => stdout.trim().split("\n").at(-1))).toEqual([
    "With a login: choose OAuth 2.1 as auth, and press Register Client.",
    "With a login: choose MCP OAuth2 as authentication, and press Connect.",
    "With a login: add auth, an OAuthClientProvider of the MCP SDK for Python.",
    "The client opens a browser, where you log in.",
  ]);
});
