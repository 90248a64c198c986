import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, request, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
// The transport that an mcpo config means by `type: sse`.
// oxlint-disable-next-line typescript/no-deprecated
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { fakeUpstream } from "propylon/testing";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  propylon,
  propylonEach,
  startPropylon,
  type Finished,
  type Running,
} from "../../core/cli/propylon.ts";

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

/** A single server behind `mcpo --`, under the control of the test. */
async function runShop(flags: readonly string[]) {
  const shop = await fakeUpstream({
    price: {
      input: {
        type: "object",
        properties: {
          item: { type: "string" },
          count: { type: "integer" },
          gift: { anyOf: [{ type: "boolean" }, { type: "null" }] },
          note: { type: ["string", "number"] },
        },
        required: ["item"],
      },
      run: ({ item }) => `${String(item)}: 3 EUR`,
    },
  });
  const url = `${shop.url}?/shop-server`;
  const words = [
    "mcpo",
    "-p",
    "0",
    "-h",
    "127.0.0.1",
    "--type",
    "streamable-http",
    ...flags,
    "--",
    url,
  ];
  return { ...(await run(words)), shop };
}

/** A request with exactly these headers, which fetch does not allow; a POST when it has a body. */
async function send(
  base: string,
  path: string,
  headers: Record<string, string>,
  body?: string,
): Promise<{ status: number; text: string }> {
  const method = body === undefined ? "GET" : "POST";
  const outgoing = request(`${base}${path}`, { method, headers });
  outgoing.end(body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode!, text: Buffer.concat(chunks).toString() };
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
      expect(log()).not.toMatch(/client_header_forwarding/);
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
      await expect.poll(async () => (await post(base, "/mcp_old/greet", {}, KEY)).status).toBe(404);
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

  it(
    "answers to every name when a key is needed, and else to those that a flag allows",
    async () => {
      const { base } = await runShop(["-k", KEY]);
      for (const host of [
        "mcpo:8000",
        "host.docker.internal:8000",
        "nas.lan",
        "192.168.1.5:8000",
      ]) {
        const withKey = { host, authorization: `Bearer ${KEY}` };
        expect(await send(base, "/openapi.json", withKey)).toMatchObject({ status: 200 });
        expect((await send(base, "/openapi.json", { host })).status).toBe(401);
      }
      const open = await runShop([]);
      const refused = await send(open.base, "/openapi.json", { host: "mcpo:8000" });
      expect(refused.status).toBe(403);
      expect(refused.text).toMatch(/--allowed-host <name>/);
      const allowed = await runShop(["--allowed-host", "mcpo"]);
      expect((await send(allowed.base, "/openapi.json", { host: "mcpo:8000" })).status).toBe(200);
      expect((await send(allowed.base, "/openapi.json", { host: "evil.example" })).status).toBe(
        403,
      );
    },
    MINUTE,
  );

  it(
    "keeps the listeners of a file, and asks for names where not everything needs the key",
    async () => {
      const file = await copyOf("mcp.json", () =>
        JSON.stringify({
          listeners: { front: { host: "127.0.0.1", port: 0 }, back: { port: 0 } },
          endpoints: { mcp: {}, other: { path: "/other", listener: "back" } },
          auth: { strict: false },
          plugins: { openapi: {} },
        }),
      );
      const words = ["mcpo", "-p", "0", "-h", "127.0.0.1", "-k", KEY, "--config", file];
      const { base, log } = await run([...words, "--root-path", "/tools"]);
      expect(log()).toMatch(/"name":"other"/);
      expect((await fetch(`${base}/tools/openapi.json`)).status).toBe(200);
      expect((await send(base, "/openapi.json", { host: "evil.example" })).status).toBe(403);
    },
    MINUTE,
  );

  it(
    "a single server at the root, below --root-path and --path-prefix, with or without a proxy that takes them off",
    async () => {
      const { base } = await runShop(["--root-path", "api/tools/", "--path-prefix", "/v1"]);
      for (const prefix of ["", "/v1", "/api/tools", "/api/tools/v1"])
        for (const path of ["/price", "/shop-server/price"])
          expect(await post(base, `${prefix}${path}`, { item: "tea" })).toEqual({
            status: 200,
            body: "tea: 3 EUR",
          });
      expect((await post(base, "/other/price", { item: "tea" })).status).toBe(404);
      const document = await (await fetch(`${base}/api/tools/v1/openapi.json`)).json();
      expect(document).toMatchObject({
        servers: [{ url: "/api/tools/v1" }],
        paths: { "/price": { post: { operationId: "price" } } },
      });
      expect((await fetch(`${base}/api/toolset/price`)).status).toBe(404);
    },
    MINUTE,
  );

  it(
    "requests without a content type, and text for numbers and booleans",
    async () => {
      const { base, shop } = await runShop([]);
      const body = JSON.stringify({ item: "tea", count: "2", gift: "true", note: "7" });
      const { status } = await send(base, "/price", {}, body);
      expect(status).toBe(200);
      expect(shop.calls[0]!.args).toEqual({ item: "tea", count: 2, gift: true, note: "7" });
      const wrong = await send(base, "/price", {}, JSON.stringify({ item: "tea", count: "two" }));
      expect(wrong.status).toBe(422);
    },
    MINUTE,
  );

  it(
    "--tool-timeout, --tool-timeout-max, and --plugin admin with --allow-mutations",
    async () => {
      const words = [
        "-k",
        KEY,
        "--tool-timeout",
        "300ms",
        "--tool-timeout-max",
        "1",
        "--plugin",
        "admin",
      ];
      const { base, shop } = await runShop([...words, "--allow-mutations"]);
      shop.delay = 30_000;
      expect((await post(base, "/price", { item: "tea" }, KEY)).status).toBe(504);
      const long = await fetch(`${base}/price`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}`, "x-tool-timeout": "60" },
        body: new Uint8Array(Buffer.from('{"item": "tea"}')),
      });
      expect(long.status).toBe(504);
      expect(long.headers.get("x-tool-timeout-effective")).toBe("1");
      const name = "/_meta/servers/shop-server";
      expect((await post(base, `${name}/disable`, {}, KEY)).status).toBe(200);
      expect((await post(base, "/price", { item: "tea" }, KEY)).status).toBe(403);
      const fixed = await runShop(words);
      expect((await post(fixed.base, `${name}/disable`, {}, KEY)).status).toBe(403);
    },
    MINUTE,
  );

  it(
    "headers of clients that the config names, and never the key",
    async () => {
      const forwarding = {
        enabled: true,
        whitelist: ["X-User-*", "Authorization"],
        blacklist: ["x-user-secret"],
      };
      const words = ["-k", KEY, "--client-header-forwarding", JSON.stringify(forwarding)];
      const { base, shop } = await runShop(words);
      const headers = {
        authorization: `Bearer ${KEY}`,
        "X-User-Id": "7",
        "x-user-secret": "s",
        "x-other": "o",
      };
      expect((await send(base, "/price", headers, '{"item": "tea"}')).status).toBe(200);
      expect(shop.calls[0]!.meta).toMatchObject({ headers: { "x-user-id": "7" } });
      expect(Object.keys(shop.calls[0]!.meta!["headers"] as object)).toEqual(["x-user-id"]);
    },
    MINUTE,
  );

  const WRONG: readonly (readonly [words: readonly string[], message: RegExp])[] = [
    [[], /There is nothing to serve\. .*--config mcp\.json/],
    [
      ["--client-header-forwarding", "x", "--", "npx"],
      /--client-header-forwarding wants a JSON object/,
    ],
    [
      ["--client-header-forwarding", '{"enabled": true, "whitelist": "X"}', "--", "npx"],
      /client_header_forwarding of "[^"]+" is not understood/,
    ],
    [["-c", "mcp.json", "--header", '{"A": "b"}'], /--header is for a URL behind --, not for the/],
    [["--header", '{"A": "b"}', "--", "npx"], /--header is for a URL behind --, and a command/],
    [["--log-level", "LOUD", "--", "npx"], /Levels: DEBUG, INFO/],
    [["--env", "X", "--", "npx"], /--env wants NAME=value/],
    [["--env-path", "nowhere.env", "--", "npx"], /--env-path cannot be read/],
    [
      ["--server-type", "sse", "--header", "x", "--", "http://127.0.0.1:1"],
      /--header wants a JSON object/,
    ],
    [["--api-key", "top-secret", "--", "npx"], /at least 16/],
    [["-h", "0.0.0.0", "--", "npx"], /without authentication/],
  ];

  describe("tells what is wrong", () => {
    let finished: readonly Finished[];
    beforeAll(async () => {
      const lines = WRONG.map(([words]) => ["mcpo", ...words]);
      // The last one has started its server before it fails, and ends its process.
      finished = [...(await propylonEach(lines.slice(0, -1))), await propylon(lines.at(-1)!)];
    });

    it.each(WRONG)("with %j", (words, message) => {
      const { code, stderr } = finished[WRONG.findIndex(([each]) => each === words)]!;
      expect(stderr).toMatch(message);
      expect(code).toBe(1);
    });
  });
});
