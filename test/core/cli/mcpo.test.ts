import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
// The transport that an mcpo config means by `type: sse`.
// oxlint-disable-next-line typescript/no-deprecated
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { propylon, startPropylon, type Running } from "./propylon.ts";

const FIXTURES = fileURLToPath(new URL("../../fixtures/", import.meta.url));
const CACHE = fileURLToPath(new URL("../../../node_modules/.cache/propylon/", import.meta.url));
const KEY = "a-key-of-twenty-chars";
const MINUTE = 60_000;

/** A running gateway, ended with the test, and how to call it over HTTP. */
async function run(
  words: readonly string[],
  env: Record<string, string> = {},
): Promise<Running & { base: string }> {
  const running = await startPropylon(words, { env });
  onTestFinished(() => void running.child.kill("SIGKILL"));
  return { ...running, base: running.url.replace(/\/mcp$/, "") };
}

async function post(
  base: string,
  path: string,
  args: object = {},
  key?: string,
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${base}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify(args),
  });
  return { status: response.status, body: await response.json() };
}

/** A copy of a fixture in a folder of its own, from which npx finds the installed servers. */
async function copyOf(name: string, change = (text: string): string => text): Promise<string> {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(CACHE, "mcpo-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, name);
  await writeFile(file, change(await readFile(join(FIXTURES, "mcpo", name), "utf8")));
  return file;
}

/** A server of the transport of 2024-11-05, as the SDK has it; keeps the headers of its clients. */
async function startSse(): Promise<{ port: number; heard: IncomingMessage["headers"][] }> {
  // oxlint-disable-next-line typescript/no-deprecated
  const transports = new Map<string, SSEServerTransport>();
  const heard: IncomingMessage["headers"][] = [];
  const server = createServer((req, res) => void answer(req, res));
  const answer = async (
    req: IncomingMessage,
    res: import("node:http").ServerResponse,
  ): Promise<void> => {
    const url = new URL(req.url!, "http://localhost");
    if (req.method === "POST") {
      const transport = transports.get(url.searchParams.get("sessionId")!);
      return transport ? transport.handlePostMessage(req, res) : void res.writeHead(404).end();
    }
    if (url.pathname !== "/sse" || req.method !== "GET") return void res.writeHead(405).end();
    heard.push(req.headers);
    // oxlint-disable-next-line typescript/no-deprecated
    const transport = new SSEServerTransport("/messages", res);
    transports.set(transport.sessionId, transport);
    const mcp = new McpServer({ name: "old", version: "1" });
    mcp.registerTool("greet", { inputSchema: { name: z.string() } }, ({ name }) => ({
      content: [{ type: "text", text: `hello ${name}` }],
    }));
    await mcp.connect(transport);
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: (server.address() as AddressInfo).port, heard };
}

/** The everything server of the fixtures over Streamable HTTP. */
async function startStreamable(): Promise<string> {
  const script = join(FIXTURES, "upstreams/legacy.mjs");
  const child = spawn(process.execPath, [script, "http"], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  return (JSON.parse(line) as { url: string }).url;
}

describe("a config of another program runs unchanged", () => {
  it(
    "an mcpServers file of Claude Desktop, with its settings and its disabled server",
    async () => {
      const file = await copyOf("claude_desktop_config.json");
      const gateway = await run(["start", file, "--plugin", "openapi", "--port", "0"]);
      const { base, log } = gateway;
      expect(log()).toMatch(/globalShortcut.*is ignored/);
      expect(await post(base, "/memory/search_nodes", { query: "nobody" })).toMatchObject({
        status: 200,
        body: { ok: true, result: { entities: [] } },
      });
      expect(await post(base, "/filesystem/list_allowed_directories")).toMatchObject({
        status: 200,
        body: { ok: true },
      });
      const document = (await (await fetch(`${base}/openapi.json`)).json()) as { paths: object };
      const paths = Object.keys(document.paths).join(" ");
      expect(paths).toMatch(/\/memory\/create_entities/);
      expect(paths).toMatch(/\/sequential-thinking\/sequentialthinking/);
      expect(paths).not.toMatch(/\/everything\//);
      expect((await post(base, "/everything/echo", { message: "x" })).status).toBe(404);
      expect(await gateway.stop()).toBe(0);
    },
    MINUTE,
  );

  it(
    "M006: an mcpo config with every type it knows, disabledTools, a key and hot reload",
    async () => {
      const { port, heard } = await startSse();
      const streamable = await startStreamable();
      const file = await copyOf("mcp.json", (text) =>
        text
          .replaceAll("127.0.0.1:8001", `127.0.0.1:${port}`)
          .replaceAll("http://127.0.0.1:8002/mcp", streamable),
      );
      const words = [
        "mcpo",
        "--config",
        file,
        "-p",
        "0",
        "-h",
        "127.0.0.1",
        "-k",
        KEY,
        "--hot-reload",
      ];
      const { base, log } = await run([...words, "--log-level", "INFO", "--strict-auth"]);
      expect(log()).toMatch(/client_header_forwarding.*is ignored/);
      expect((await post(base, "/memory/read_graph")).status).toBe(401);
      expect((await post(base, "/memory/read_graph", {}, "another-key-of-20-chars")).status).toBe(
        401,
      );
      expect(await post(base, "/memory/read_graph", {}, KEY)).toMatchObject({
        status: 200,
        body: { entities: [], relations: [] },
      });
      for (const server of ["mcp_sse", "mcp_old"])
        expect(await post(base, `/${server}/greet`, { name: "Bo" }, KEY)).toMatchObject({
          status: 200,
          body: "hello Bo",
        });
      expect(heard.map((headers) => headers["x-custom-header"])).toContain("value");
      expect(heard.map(({ authorization }) => authorization)).toContain("Bearer token");
      const described = async (server: string): Promise<string[]> => {
        const response = await fetch(`${base}/${server}/openapi.json`, {
          headers: { authorization: `Bearer ${KEY}` },
        });
        return Object.keys(((await response.json()) as { paths: object }).paths);
      };
      expect((await described("mcp_streamable_http")).length).toBeGreaterThan(0);
      expect(await described("mcp_streamablehttp")).toHaveLength(
        (await described("mcp_streamable_http")).length,
      );
      const tools = (await described("everything")).join(" ");
      expect(tools).toMatch(/echo/);
      expect(tools).not.toMatch(/get-sum/);
      expect(
        (await post(base, "/everything/get-sum", { a: 1, b: 2 }, KEY)).status,
      ).toBeGreaterThanOrEqual(400);
      expect((await fetch(`${base}/memory/docs`)).headers.get("content-type")).toMatch(
        /text\/html/,
      );
      const env = await post(base, "/everything/get-env", {}, KEY);
      expect(JSON.stringify(env.body)).toMatch(/servus/);
      // Its --hot-reload: a server that leaves the file is gone, the others never noticed.
      const config = JSON.parse(await readFile(file, "utf8")) as {
        mcpServers: Record<string, unknown>;
      };
      delete config.mcpServers["mcp_old"];
      await writeFile(file, JSON.stringify(config));
      await expect
        .poll(async () => (await post(base, "/mcp_old/greet", {}, KEY)).status, { timeout: 10_000 })
        .toBe(404);
      expect((await post(base, "/memory/read_graph", {}, KEY)).status).toBe(200);
    },
    MINUTE,
  );

  it(
    "mcpo's single servers: a command with variables, a URL with headers",
    async () => {
      const command = ["npx", "-y", "@modelcontextprotocol/server-everything"];
      const one = await run([
        "mcpo",
        "--port",
        "0",
        "--env",
        "GREETING=hi=there",
        "--",
        ...command,
      ]);
      const env = await post(one.base, "/server-everything/get-env");
      expect(JSON.stringify(env.body)).toMatch(/hi=there/);
      const { port, heard } = await startSse();
      const header = '{"X-Team": "a"}';
      const url = `http://127.0.0.1:${port}/sse`;
      const two = await run([
        "mcpo",
        "--port",
        "0",
        "--type",
        "sse",
        "--header",
        header,
        "-n",
        "mine",
        "--",
        url,
      ]);
      expect(await post(two.base, "/sse/greet", { name: "Bo" })).toMatchObject({ status: 200 });
      expect(heard[0]).toMatchObject({ "x-team": "a" });
    },
    MINUTE,
  );

  it.each([
    [[], /There is nothing to serve\. .*--config mcp\.json/],
    [
      ["--root-path", "/x", "--", "npx"],
      /--root-path of mcpo has no counterpart\. .*reverse proxy/,
    ],
    [["--log-level", "LOUD", "--", "npx"], /Levels: DEBUG, INFO/],
    [["--env", "X", "--", "npx"], /--env wants NAME=value/],
    [["--env-path", "nowhere.env", "--", "npx"], /--env-path cannot be read/],
    [
      ["--server-type", "sse", "--header", "x", "--", "http://127.0.0.1:1"],
      /--header wants a JSON object/,
    ],
    [["--api-key", "top-secret", "--", "npx"], /at least 16/],
    [["-h", "0.0.0.0", "--", "npx"], /without authentication/],
  ])("tells what is wrong with %j", async (words, message) => {
    const { code, stderr } = await propylon(["mcpo", ...words]);
    expect(stderr).toMatch(message);
    expect(code).toBe(1);
  });
});
