import { execFile } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { loadConfig } from "../../core/file/load.ts";
import { writeConfig as asWritten } from "../../core/config/config.ts";
import { connectClient } from "../../core/testing/index.ts";
import { makeFolder } from "../kit/folder.ts";
import { startEcho, startGateway } from "./kit.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PATCHED = fileURLToPath(new URL("patched.mjs", import.meta.url));
const execute = promisify(execFile);
const TOKEN = "team-jwt-from-the-secrets";

function writeConfig(text: string): string {
  const folder = makeFolder();
  const file = join(folder, "gateway.yaml");
  writeFileSync(file, text);
  return file;
}

it("T011: what a client sends to prove itself never reaches a server", async () => {
  const canary = "CANARY-5b1f8c";
  const upstream = await startEcho();
  const headers = {
    authorization: `Bearer ${canary}`,
    cookie: `session=${canary}`,
    "x-api-key": canary,
    "proxy-authorization": canary,
  };
  const { client } = await startGateway({
    client: { headers },
    config: { servers: { mine: { url: upstream.url } } },
  });
  const result = await client.callTool({ name: "echo", arguments: { text: "hello" } });
  expect(result.content).toEqual([{ type: "text", text: "hello" }]);
  expect(upstream.requests.some(({ body }) => JSON.stringify(body ?? {}).includes("hello"))).toBe(
    true,
  );
  expect(JSON.stringify(upstream.requests)).not.toContain(canary);
});

it("T002, T015, T019, T057, T089: a server gets the static bearer that its entry takes from the environment, with every request", async () => {
  const upstream = await startEcho();
  const file = writeConfig(
    `servers:\n  mine:\n    url: ${upstream.url}\n    headers: { Authorization: "Bearer \${TEAM_JWT}" }\n`,
  );
  const { config } = await loadConfig(file, { environment: { TEAM_JWT: TOKEN } });
  const { client } = await startGateway({ config: { servers: asWritten(config.values).servers! } });
  await client.callTool({ name: "echo", arguments: { text: "hello" } });
  expect(upstream.requests.length).toBeGreaterThan(2);
  expect(new Set(upstream.requests.map(({ headers }) => headers.authorization))).toEqual(
    new Set([`Bearer ${TOKEN}`]),
  );
});

it("T135: an mcp.servers entry with transport, url and headers is taken as it is", async () => {
  const file = writeConfig(
    `mcpServers:\n  mnemosyne:\n    transport: http\n    url: http://127.0.0.1:9/mcp\n    headers: { Authorization: "Bearer ${TOKEN}" }\n`,
  );
  const { config } = await loadConfig(file);
  expect(config.values.servers["mnemosyne"]).toMatchObject({
    url: "http://127.0.0.1:9/mcp",
    transport: "streamable-http",
    headers: { Authorization: `Bearer ${TOKEN}` },
  });
});

it("T136: a stale forward_inbound_auth fails visibly, with its place", async () => {
  const file = writeConfig(
    `servers:\n  mine:\n    url: http://127.0.0.1:9/mcp\n    forward_inbound_auth: true\n`,
  );
  const failure = await loadConfig(file).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "invalid" });
  const { data } = failure as { data: { issues: { message: string; place: { line: number } }[] } };
  expect(JSON.stringify(data.issues)).toContain("forward_inbound_auth");
  expect(data.issues[0]!.place.line).toBe(4);
});

it("T058: an import of the package, plugins included, changes nothing of the platform or of the HTTP client", async () => {
  const look = async (...args: string[]) => {
    const { stdout } = await execute(process.execPath, [PATCHED, ...args]);
    return JSON.parse(stdout) as { entries: string[]; watched: number; changed: string[] };
  };
  const { entries, watched, changed } = await look();
  expect(entries).toEqual(expect.arrayContaining(["propylon", "propylon/plugins/servers"]));
  expect(watched).toBeGreaterThan(1_000);
  expect(changed).toEqual([]);
  // It would see one.
  expect((await look("--patch")).changed).toEqual(["http.Agent.createConnection"]);
});

/** Sources with a word of the constructs that are gone, and why they may have it. */
const NAMESAKES: Readonly<Record<string, string>> = {
  "plugins/agents/pallas/pallas.ts": "names the option of Pallas in order to refuse it",
  "plugins/telemetry/pipeline.ts": "the context of spans, which holds no credentials",
};

it("T159: no source patches what it imports, and none knows of forwarding inbound credentials", () => {
  const files = ["core", "plugins", "templates/src", "playground"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.m?ts$|\.mjs$/.test(name) && !name.includes("node_modules"))
      .map((name) => `${folder}/${name.replaceAll("\\", "/")}`),
  );
  expect(files.length).toBeGreaterThan(400);
  const patching =
    /forward_?inbound|AsyncLocalStorage|globalThis\.\w+ *=[^=]|(?:http|https|undici|Client|Transport)\.prototype\.\w+ *=[^=]/i;
  const found = files.filter((name) => patching.test(readFileSync(join(ROOT, name), "utf8")));
  expect(found.toSorted()).toEqual(Object.keys(NAMESAKES));
});

it("P011: a gateway is itself a server of another, and calls go through both", async () => {
  const upstream = await startEcho();
  const inner = await startGateway({
    client: false,
    config: { servers: { tools: { url: upstream.url } } },
  });
  const { client } = await startGateway({
    config: { servers: { team: { url: `${inner.url}/mcp` } } },
  });
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toContain("echo");
  const result = await client.callTool({ name: "echo", arguments: { text: "through both" } });
  expect(result.content).toEqual([{ type: "text", text: "through both" }]);
});

it("P006: one gateway serves different servers on ports of their own", async () => {
  const [left, right] = [await startEcho(), await startEcho()];
  const { gateway } = await startGateway({
    client: false,
    config: {
      listeners: { one: { port: 0 }, two: { port: 0 } },
      endpoints: {
        left: { listener: "one", servers: ["left"], naming: "server" },
        right: { listener: "two", servers: ["right"], naming: "server" },
      },
      servers: { left: { url: left.url }, right: { url: right.url } },
    },
  });
  const names = await Promise.all(
    gateway.endpoints.map(async ({ url }) => {
      const client = await connectClient(url);
      onTestFinished(() => client.close());
      return (await client.listTools()).tools.map(({ name }) => name);
    }),
  );
  expect(names).toEqual([["left__echo"], ["right__echo"]]);
  expect(new Set([...gateway.addresses.values()].map(({ port }) => port)).size).toBe(2);
});

it("A002, A004, A043: a client that knows nothing but the URL of /mcp connects and calls", async () => {
  const upstream = await startEcho();
  const { gateway } = await startGateway({
    client: false,
    config: { servers: { mine: { url: upstream.url } } },
  });
  const { port } = gateway.addresses.get("main")!;
  const client = await connectClient(`http://localhost:${port}/mcp`);
  onTestFinished(() => client.close());
  const result = await client.callTool({ name: "echo", arguments: { text: "hello" } });
  expect(result.content).toEqual([{ type: "text", text: "hello" }]);
});

it("A005: the endpoint starts and stops with the gateway", async () => {
  const { gateway, client, url } = await startGateway({});
  expect((await client.listTools()).tools).toEqual([]);
  await client.close();
  await gateway.close({ grace: 1_000 });
  await expect(fetch(`${url}/mcp`)).rejects.toThrow("fetch failed");
});

it("A006: fifty clients at once each get their own answers", async () => {
  const upstream = await startEcho();
  const { gateway } = await startGateway({
    client: false,
    config: { servers: { mine: { url: upstream.url } } },
  });
  const { url } = gateway.endpoints[0]!;
  const talk = async (index: number): Promise<unknown[]> => {
    const client = await connectClient(url);
    const texts = Array.from({ length: 10 }, (_, turn) => `client ${index}, turn ${turn}`);
    const results = await Promise.all(
      texts.map((text) => client.callTool({ name: "echo", arguments: { text } })),
    );
    await client.close();
    return results.map(
      ({ content }, turn) => (content as { text: string }[])[0]!.text === texts[turn],
    );
  };
  const all = await Promise.all(Array.from({ length: 50 }, (_, index) => talk(index)));
  expect(all.flat()).toHaveLength(500);
  expect(all.flat().every(Boolean)).toBe(true);
});
