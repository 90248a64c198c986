import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { RESERVED_SERVERS } from "../../core/internal.ts";
import { RESERVED } from "../../templates/src/servers.ts";
import { problems, SCHEMA_LINE } from "../fixtures/editor.ts";
import { takeOver } from "./takeover.ts";

const take = (servers: unknown, file = ".mcp.json") =>
  takeOver(file, JSON.stringify({ mcpServers: servers }));

describe("servers that are taken over", () => {
  it("names that a gateway reserves are those of propylon", () => {
    expect(RESERVED).toEqual(RESERVED_SERVERS);
  });

  it("Claude: literals go into .env, variables stay", async () => {
    const { loaded, yaml, env } = await take({
      github: {
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-github"],
        env: { GITHUB_TOKEN: "ghp_0123456789abcdefABCD", LOG: "${LOG:-info}" },
      },
      search: {
        type: "http",
        url: "https://search.example/mcp",
        headers: { Authorization: "Bearer topsecret", "X-Team": "${env:TEAM:-a}" },
      },
    });
    expect(loaded.config.values.servers).toMatchObject({
      github: {
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-github"],
        env: { GITHUB_TOKEN: "ghp_0123456789abcdefABCD", LOG: "info" },
      },
      search: {
        url: "https://search.example/mcp",
        headers: { Authorization: "Bearer topsecret", "X-Team": "a" },
      },
    });
    expect(yaml).toContain("GITHUB_TOKEN: ${GITHUB_TOKEN}\n");
    expect(yaml).toContain("LOG: ${LOG:-info}\n");
    expect(yaml).toContain("X-Team: ${env:TEAM:-a}\n");
    expect(yaml).not.toMatch(/ghp_|topsecret/);
    expect(yaml).toMatch(SCHEMA_LINE);
    expect(problems(parse(yaml))).toEqual([]);
    expect(env).toMatchObject({ SEARCH_AUTHORIZATION: "Bearer topsecret" });
    expect(loaded.warnings).toEqual([]);
  });

  it("a command line is a program and its arguments, a path with blanks is a program", async () => {
    const { loaded } = await take({
      line: { command: "node server.js --fast", args: ["last"] },
      path: { command: "/opt/My Tools/server" },
    });
    expect(loaded.config.values.servers).toMatchObject({
      line: { command: "node", args: ["server.js", "--fast", "last"] },
      path: { command: "/opt/My Tools/server" },
    });
  });

  it("VS Code: comments, commas at the end, inputs with and without default, its folder", async () => {
    const { loaded, project, env, yaml } = await takeOver(
      ".vscode/mcp.json",
      `\uFEFF{
        // "inputs" are asked for
        "inputs": [
          { "type": "promptString", "id": "api-key", "password": true },
          { "id": "region", "default": "eu // north", },
        ],
        "servers": {
          "db": { /* a, b, */ "type": "stdio", "command": "\${workspaceFolder}/bin/db", "args": ["--region", "\${input:region}"],
            "env": { "KEY": "\${input:api-key}", "SAME": "x-\${input:api-key}" }, "envFile": ".env", },
          "web": { "type": "sse", "url": "https://\${input:host}/sse", "gallery": true, },
        },
      }`,
    );
    expect(env).toMatchObject({ API_KEY: "", REGION: "eu // north", HOST: "fill-in" });
    expect(project.blanks).toEqual(["API_KEY", "HOST"]);
    expect(yaml).toContain("SAME: x-${API_KEY}\n");
    const { WORKSPACE_FOLDER } = env;
    expect(loaded.config.values.servers).toMatchObject({
      db: { command: `${WORKSPACE_FOLDER}/bin/db`, args: ["--region", "eu // north"] },
      web: { url: "https://fill-in/sse", transport: "sse" },
    });
    expect(join(WORKSPACE_FOLDER!, "gw/gateway.yaml")).toBe(loaded.file);
    expect(project.notes).toEqual([
      `"db": envFile left out, a gateway has no use for it.`,
      `"web": gallery left out, a gateway has no use for it.`,
    ]);
    expect(loaded.warnings).toEqual([]);
  });

  it("Cursor and others: disabled, disabledTools, serverUrl, numbers, home and relative folders", async () => {
    const { loaded } = await takeOver(
      ".cursor/mcp.json",
      JSON.stringify({
        mcpServers: {
          off: { serverUrl: "http://127.0.0.1:9/mcp", disabled: true, disabledTools: ["a"] },
          on: { command: "./run.sh", args: ["${userHome}/x", 3], env: { N: 1, B: true, Z: null } },
          in: { command: "run", cwd: "sub/folder" },
        },
      }),
    );
    expect(loaded.config.values.servers).toMatchObject({
      off: { url: "http://127.0.0.1:9/mcp", enabled: false, tools: { exclude: ["a"] } },
      on: {
        command: "./run.sh",
        args: ["/home/ada/x", "3"],
        env: { N: "1", B: "true" },
        cwd: "..",
      },
      in: { command: "run", cwd: "../sub/folder" },
    });
    expect(loaded.warnings).toEqual([]);
  });

  it("names: reserved, taken by the template, unusable ones and twins get another", async () => {
    const server = { command: "run" };
    const { loaded, project } = await take({
      mcp: server,
      ".well-known": server,
      everything: server,
      hello: server,
      "my server": server,
      "my-server": server,
      ["__proto__"]: server,
      日本: server,
      "": server,
    });
    expect(Object.keys(loaded.config.values.servers).toSorted()).toEqual(
      "everything everything-2 hello-2 mcp-server my-server my-server-2 server server-2 server-3 wellknown-server".split(
        " ",
      ),
    );
    expect(project.notes).toContain(`"mcp" is called "mcp-server" now.`);
  });

  it("variables: a stranger's server gets neither the key of the gateway nor the secret of another", async () => {
    const { loaded, env, project } = await take({
      gateway: { command: "run", env: { KEY: "theirs", OWN: "${GATEWAY_KEY}" } },
      "a-b": { command: "run", env: { TOKEN: "one" } },
      a: { command: "run", env: { B_TOKEN: "two" }, args: ["${PATH}"] },
    });
    expect(loaded.config.values.auth.apiKey).toMatch(/^[0-9a-f]{48}$/);
    expect(loaded.config.values.servers).toMatchObject({
      gateway: { env: { KEY: "theirs", OWN: "" } },
      "a-b": { env: { TOKEN: "one" } },
      a: { env: { B_TOKEN: "two" }, args: ["/usr/bin"] },
    });
    expect(env).toMatchObject({ GATEWAY_KEY_2: "theirs", A_B_TOKEN: "one", A_B_TOKEN_2: "two" });
    expect(project.blanks).toEqual(["GATEWAY_GATEWAY_KEY"]);
  });

  it("variables: what the process has set to something else is not taken", async () => {
    process.env["SHOP_SECRET"] = "of the shell";
    try {
      const { env } = await take({ shop: { command: "run", env: { SECRET: "of the file" } } });
      expect(env).toMatchObject({ SHOP_SECRET_2: "of the file" });
    } finally {
      delete process.env["SHOP_SECRET"];
    }
  });

  it("secrets in arguments and URLs go into .env too", async () => {
    const secrets = {
      one: ["--api-key", "abc123"],
      two: ["--token=abc124"],
      three: ["mcp-remote", "https://x.example/mcp", "--header", "Authorization: Bearer abc125"],
      four: ["run", "-e", "API_KEY=abc126", "image"],
      five: ["postgresql://ada:abc127@db.example:5432/shop"],
      six: ["sk-proj-abcdefghijklmnop"],
    };
    const servers = Object.entries(secrets).map(([name, args]) => [name, { command: "x", args }]);
    const { loaded, yaml } = await take({
      ...Object.fromEntries(servers),
      seven: { url: "https://x.example/mcp?api_key=abc128&v=2" },
      eight: { url: "https://x.example/s/Zm9vYmFy0aGlzSXNB1VG9r2ZW4/mcp" },
    });
    expect(yaml).not.toMatch(/abc12\d|sk-proj|Zm9v/);
    for (const [name, args] of Object.entries(secrets))
      expect(loaded.config.values.servers[name]).toMatchObject({ args });
    expect(loaded.config.values.servers).toMatchObject({
      seven: { url: "https://x.example/mcp?api_key=abc128&v=2" },
      eight: { url: "https://x.example/s/Zm9vYmFy0aGlzSXNB1VG9r2ZW4/mcp" },
    });
    expect(yaml).toContain("https://x.example/mcp?api_key=${SEVEN_API_KEY}&v=2");
    expect(yaml).toContain('"Authorization: ${THREE_AUTHORIZATION}"');
  });

  it("what no gateway can run is left out, and said so", async () => {
    const { loaded, project } = await take({
      fine: { command: "run" },
      socket: { type: "ws", url: "wss://x.example" },
      wrong: { url: "not a url" },
      empty: {},
      text: "run",
      shell: { command: ["run"] },
      typed: { type: "http", command: "run" },
    });
    expect(Object.keys(loaded.config.values.servers)).toEqual(["everything", "fine"]);
    expect(project.notes.map((note) => note.replace(/^("\w+") of \S+/, "$1"))).toEqual([
      `"socket" was left out: its type is "ws", and a gateway knows stdio with a command, http and sse with a url.`,
      `"wrong" was left out: its url is not valid.`,
      `"empty" was left out: it has neither a command nor a url.`,
      `"text" was left out: it is not a map.`,
      `"shell" was left out: its command is not a text.`,
      `"typed" was left out: its type is "http", and a gateway knows stdio with a command, http and sse with a url.`,
    ]);
  });

  it.each([
    ["{", "is not JSON"],
    ["[]", "has no mcpServers"],
    ['{ "mcpServers": {} }', "has no mcpServers"],
    ['{ "mcpServers": { "a": {} } }', "has no server to import"],
    ["[mcp_servers.x]", "is not JSON"],
    [
      '{ "mcpServers": { "a": { "command": "x", "env": { "K": "\'`\\"" } } } }',
      "that .env cannot hold",
    ],
  ])("a file that cannot be taken over is refused: %s", async (text, message) => {
    await expect(takeOver("servers.json", text)).rejects.toThrow(message);
  });
});
