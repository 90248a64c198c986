import { once } from "node:events";
import { createServer as createHttp, type IncomingMessage, request, type Server } from "node:http";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createGateway } from "../../../core/index.ts";
import { makeAuthority, makeCertificate } from "../../fixtures/certificate.ts";
import { makeFolder } from "../../kit/folder.ts";
import { callText, makeUpstream, reached } from "./support/calls.ts";
import { closing } from "./support/use.ts";

const use = closing();
const CA = makeAuthority({ name: "test ca" });
const SERVER = makeCertificate({ name: "server", hosts: ["localhost", "127.0.0.1"] }, CA);
const CLIENT = makeCertificate({ name: "gateway" }, CA);

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A server of the legacy era with one tool, which says what it was asked with. */
function onRequest(req: IncomingMessage, res: import("node:http").ServerResponse): void {
  let text = "";
  req.on("data", (chunk) => (text += chunk));
  req.on("end", () => {
    if (req.method !== "POST") return void res.writeHead(405).end();
    const { id, method, params } = JSON.parse(text) as {
      id?: string;
      method: string;
      params: { name?: string };
    };
    const results: Record<string, object> = {
      initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: {} },
      "tools/list": { tools: [{ name: "t", inputSchema: { type: "object" } }] },
      "tools/call": { content: [{ type: "text", text: `hello ${params?.name}` }] },
    };
    if (id === undefined) return void res.writeHead(202).end();
    const result = results[method];
    const error = { code: -32601, message: "no" };
    if (method === "tools/call") {
      res.writeHead(200, { "content-type": "text/event-stream" });
      return void res.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`);
    }
    res.writeHead(200, { "content-type": "application/json" });
    res.end(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }));
  });
}

/** A proxy as companies have it: tunnels for https, requests with the whole URL for http. */
async function startProxy(password?: string) {
  const seen: string[] = [];
  const isIn = ({ headers }: IncomingMessage): boolean =>
    password === undefined ||
    headers["proxy-authorization"] === `Basic ${Buffer.from(password).toString("base64")}`;
  const proxy = createHttp((req, res) => {
    if (!isIn(req)) return void res.writeHead(407).end();
    seen.push(`${req.method} ${req.url}`);
    const onward = request(req.url!, { method: req.method, headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(res);
    });
    req.pipe(onward);
  });
  const sockets = new Set<Socket>();
  proxy.on("connect", (req: IncomingMessage, socket: Socket) => {
    if (!isIn(req)) return void socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    seen.push(`CONNECT ${req.url}`);
    const [host, port] = req.url!.split(":");
    const onward = connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    for (const each of [socket, onward]) sockets.add(each.on("error", () => each.destroy()));
  });
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
  return { seen, port: await listen(proxy) };
}

function setVariable(name: string, value: string): void {
  const before = process.env[name];
  process.env[name] = value;
  onTestFinished(() => {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  });
}

async function call(config: object, cwd = process.cwd()): Promise<string> {
  const upstream = use(makeUpstream({ protocol: "legacy", ...config }, { cwd }));
  upstream.start();
  await reached(upstream, "ready", "backoff", "failed");
  if (upstream.status.state !== "ready") throw new Error(upstream.status.reason);
  await upstream.probe(AbortSignal.timeout(5_000));
  return callText(upstream, "t");
}

it("mcp-15: a server over https is reached through a proxy that tunnels, with a password", async () => {
  const port = await listen(createHttps({ cert: SERVER.cert, key: SERVER.key }, onRequest));
  const proxy = await startProxy("user:pass");
  const cwd = makeFolder({ "ca.pem": CA.cert });
  const config = { url: `https://127.0.0.1:${port}/mcp`, tls: { ca: "ca.pem" } };
  const text = await call({ ...config, proxy: `http://user:pass@127.0.0.1:${proxy.port}` }, cwd);
  expect(text).toBe("hello t");
  expect(new Set(proxy.seen)).toEqual(new Set([`CONNECT 127.0.0.1:${port}`]));
  await expect(call({ ...config, proxy: `http://127.0.0.1:${proxy.port}` }, cwd)).rejects.toThrow(
    /cannot be used/,
  );
});

it("mcp-15: one over http is asked for by its whole URL", async () => {
  const port = await listen(createHttp(onRequest));
  const proxy = await startProxy();
  const url = `http://127.0.0.1:${port}/mcp`;
  expect(await call({ url, proxy: `http://127.0.0.1:${proxy.port}` })).toBe("hello t");
  expect(proxy.seen).toContain(`POST ${url}`);
});

it("mcp-15: proxy: environment reads HTTP_PROXY and NO_PROXY; without the option they change nothing", async () => {
  const port = await listen(createHttp(onRequest));
  const proxy = await startProxy();
  const url = `http://127.0.0.1:${port}/mcp`;
  setVariable("HTTP_PROXY", `http://127.0.0.1:${proxy.port}`);
  expect(await call({ url })).toBe("hello t");
  expect(proxy.seen).toEqual([]);
  expect(await call({ url, proxy: "environment" })).toBe("hello t");
  const count = proxy.seen.length;
  expect(count).toBeGreaterThan(2);
  setVariable("NO_PROXY", "127.0.0.1");
  expect(await call({ url, proxy: "environment" })).toBe("hello t");
  expect(proxy.seen).toHaveLength(count);
});

it("mcp-15: a server that wants a client certificate gets it; without one it refuses", async () => {
  const port = await listen(
    createHttps({ cert: SERVER.cert, key: SERVER.key, ca: CA.cert, requestCert: true }, onRequest),
  );
  const cwd = makeFolder({ "ca.pem": CA.cert, "c.pem": CLIENT.cert, "k.pem": CLIENT.key });
  const url = `https://localhost:${port}/mcp`;
  const tls = { ca: "ca.pem", cert: "c.pem", key: "k.pem" };
  expect(await call({ url, tls }, cwd)).toBe("hello t");
  await expect(call({ url, tls: { ca: "ca.pem" } }, cwd)).rejects.toThrow('Server "test"');
  await expect(call({ url })).rejects.toThrow(/certificate/);
  const proxy = await startProxy();
  const through = { url, tls, proxy: `http://127.0.0.1:${proxy.port}` };
  expect(await call(through, cwd)).toBe("hello t");
});

it.each([
  ["is not there", { ca: "missing.pem" }, /servers\.s\.tls\.ca cannot be read: .*missing\.pem/],
  ["is none", { cert: "text.pem", key: "text.pem" }, /servers\.s\.tls names files that are not/],
  ["has no key", { cert: "text.pem" }, /servers\.s\.tls/],
])("mcp-15: a certificate that %s is found when the config is read", async (_what, tls, words) => {
  const folder = makeFolder({ "text.pem": "text" });
  const absolute = Object.fromEntries(
    Object.entries(tls).map(([part, file]) => [part, join(folder, file)]),
  );
  const servers = { s: { url: "https://127.0.0.1:9/mcp", tls: absolute } };
  await expect(createGateway({ servers })).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringMatching(words),
  });
});

it("mcp-15: a server that may reach certain addresses only cannot use a proxy, which looks names up itself", async () => {
  const servers = {
    s: { url: "https://x.example/mcp", proxy: "http://127.0.0.1:1", allowAddresses: [] },
  };
  await expect(createGateway({ servers })).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("servers.s.proxy"),
  });
});
