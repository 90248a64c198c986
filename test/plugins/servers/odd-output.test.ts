import { pino } from "pino";
import { expect, it } from "vitest";
import openapi from "../../../plugins/openapi/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { callText, makeUpstream, reached } from "./support/calls.ts";
import { rpc, serveHttp } from "./support/servers.ts";
import { closing } from "./support/use.ts";
import { SYSTEM_CLOCK } from "../../../plugins/servers/wire/clock.ts";

const use = closing();

/** A child that writes what `before` says in front of each answer to a call. */
async function serveChild(before: string) {
  const program = `import { createInterface } from "node:readline";
const say = (message) => process.stdout.write(JSON.stringify(message) + "\\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  if (method === "initialize")
    return say({ jsonrpc: "2.0", id, result: { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "x", version: "1" } } });
  if (method !== "tools/call") return say({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } });
  process.stdout.write(${JSON.stringify(before)});
  say({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "answer" }] } });
});
`;
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { level: "debug" },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  const upstream = use(
    makeUpstream(
      {
        command: process.execPath,
        args: ["--input-type=module", "-e", program],
        env: { KEY: "canary-4711" },
        protocol: "legacy",
      },
      { log },
    ),
  );
  upstream.start();
  await reached(upstream, "ready");
  return { upstream, lines };
}

it.each([
  ["a banner", "Loading model ... done. ", "Loading model ... done."],
  ["a line of a log", '[INFO] {"level":1} ', '[INFO] {"level":1}'],
  ["text in UTF-8", "Grüße, 世界 → ", "Grüße, 世界 →"],
])(
  "bugs-mcp 24: %s in front of an answer does not lose the answer",
  async (_what, before, text) => {
    const { upstream, lines } = await serveChild(before);
    expect(await callText(upstream, "t")).toBe("answer");
    const told = lines.filter(({ msg }) => msg === "text from a server dropped");
    expect(told).toMatchObject([{ level: 40, text }]);
  },
);

it("bugs-mcp 24: a line that is no message is shown, once as a warning, without secrets and bounded", async () => {
  const { upstream, lines } = await serveChild(
    `key is canary-4711 ${"x ".repeat(5_000)}\n`.repeat(2),
  );
  expect(await callText(upstream, "t")).toBe("answer");
  const told = lines.filter(({ msg }) => msg === "text from a server dropped");
  expect(told).toMatchObject([{ level: 40 }, { level: 20 }]);
  expect(told[0]!["text"]).toMatch(/^key is \*\*\* x x/);
  expect(JSON.stringify(lines)).not.toContain("canary");
  expect(String(told[0]!["text"]).length).toBeLessThanOrEqual(200);
});

it("bugs-mcp 24: JSON that is cut is not shown, because it may hold what a caller was to get", async () => {
  const { upstream, lines } = await serveChild('{"jsonrpc":"2.0","result":{"content":"private\n');
  expect(await callText(upstream, "t")).toBe("answer");
  expect(lines.filter(({ what }) => what === "sent invalid JSON")).toHaveLength(1);
  expect(JSON.stringify(lines)).not.toContain("private");
});

it("bugs-mcp 24: a first tools/list that fails is tried again after backoff.initial, then after longer waits", async () => {
  let asked = 0;
  const server = use(
    await serveHttp((req, res, body) => {
      if (req.method !== "POST") return void res.writeHead(405).end();
      if (body.id === undefined) return void res.writeHead(202).end();
      if (body.method === "initialize")
        return rpc(res, body.id, {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "x", version: "1" },
        });
      if (body.method !== "tools/list")
        return rpc(res, body.id, undefined, { code: -32601, message: "no" });
      if (++asked < 4) return rpc(res, body.id, undefined, { code: -32603, message: "warming up" });
      rpc(res, body.id, { tools: [{ name: "t", inputSchema: { type: "object" } }] });
    }),
  );
  const waits: number[] = [];
  const clock = {
    ...SYSTEM_CLOCK,
    random: () => 1,
    after: (ms: number, run: () => void) => {
      waits.push(ms);
      return SYSTEM_CLOCK.after(ms / 100, run);
    },
  };
  const upstream = use(
    makeUpstream(
      { url: server.url, protocol: "legacy", ping: 0, backoff: { initial: "1s", max: "60s" } },
      { clock },
    ),
  );
  upstream.start();
  await expect.poll(() => upstream.catalogue.tools.map(({ name }) => name)).toEqual(["t"]);
  expect(waits.filter((ms) => ms >= 1_000)).toEqual([1_000, 2_000, 4_000]);
});

it("bugs-mcp 24: a stream that is resumed and brings nothing is opened about once a second, whatever its server asks for", async () => {
  let gets = 0;
  const server = use(
    await serveHttp((req, res, body) => {
      const prime = (): void => {
        res.writeHead(200, { "content-type": "text/event-stream" });
        res.end(`id: e${gets}\nretry: 10\ndata: \n\n`);
      };
      if (req.method === "GET" && req.headers["last-event-id"] === undefined)
        return void res.writeHead(405).end();
      if (req.method === "GET") {
        gets++;
        return prime();
      }
      if (req.method !== "POST") return void res.writeHead(405).end();
      if (body.id === undefined) return void res.writeHead(202).end();
      if (body.method === "initialize")
        return rpc(res, body.id, {
          protocolVersion: "2025-11-25",
          capabilities: {},
          serverInfo: { name: "x", version: "1" },
        });
      if (body.method === "tools/call") return prime();
      rpc(res, body.id, undefined, { code: -32601, message: "no" });
    }),
  );
  const upstream = use(makeUpstream({ url: server.url, protocol: "legacy", ping: 0 }));
  upstream.start();
  await reached(upstream, "ready");
  const signal = AbortSignal.timeout(2_500);
  await expect(callText(upstream, "t", {}, { signal })).rejects.toMatchObject({
    code: "cancelled",
  });
  expect(gets).toBeGreaterThanOrEqual(5);
  expect(gets).toBeLessThanOrEqual(9);
});

it("bugs-mcp 24: the Retry-After of a server's 429 is told over HTTP", async () => {
  const server = use(
    await serveHttp((req, res, body) => {
      if (req.method !== "POST") return void res.writeHead(405).end();
      if (body.id === undefined) return void res.writeHead(202).end();
      if (body.method === "initialize")
        return rpc(res, body.id, {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "x", version: "1" },
        });
      if (body.method === "tools/list")
        return rpc(res, body.id, { tools: [{ name: "t", inputSchema: { type: "object" } }] });
      if (body.method === "tools/call")
        return void res.writeHead(429, { "retry-after": "17" }).end("slow down");
      rpc(res, body.id, undefined, { code: -32601, message: "no" });
    }),
  );
  const { url } = await setupGateway({
    plugins: [openapi],
    config: { servers: { busy: { url: server.url, ping: 0 } } },
    client: false,
  });
  const response = await fetch(`${url}/busy/t`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  expect(response.status).toBe(502);
  expect(response.headers.get("retry-after")).toBe("17");
});
