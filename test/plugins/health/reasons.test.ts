import { describe, expect, it, onTestFinished, vi } from "vitest";
import { pino } from "pino";
import { setupGateway } from "../../../core/testing/index.ts";
import health from "../../../plugins/health/index.ts";
import { until } from "../../kit/until.ts";
import { rpc, serveNew, type Handler } from "../servers/support/servers.ts";
import {
  openBlackHole,
  openResetting,
  openSelfSigned,
  readDetails,
  refusingUrl,
  SCRIPTED,
  servePatient,
  startOldSse,
} from "./kit.ts";

const SECRET = "hush-0123456789";
const status =
  (code: number, headers: Record<string, string> = {}): Handler =>
  (_req, res) =>
    void res.writeHead(code, headers).end();

/** What a server does, how far the probe comes, and what is said of it. */
const FAILURES: readonly (readonly [string, Handler | (() => Promise<string>), string, RegExp])[] =
  [
    ["401", status(401), "auth", /wants authentication \(HTTP 401\)/],
    ["403", status(403), "auth", /denies access \(HTTP 403\)/],
    ["404", status(404), "handshake", /no MCP endpoint at this URL/],
    ["500", status(500), "handshake", /answered with HTTP 500/],
    [
      "html",
      (_req, res) =>
        void res.writeHead(200, { "content-type": "text/html" }).end("<h1>Welcome</h1>"),
      "handshake",
      /sent no answer to this request/,
    ],
    [
      "rpc-error",
      (_req, res, body) =>
        rpc(res, body?.id, undefined, { code: -32603, message: `no key like ${SECRET}` }),
      "handshake",
      /refused initialize \(JSON-RPC error -32603\)/,
    ],
    [
      "old-version",
      (_req, res, body) => rpc(res, body?.id, { protocolVersion: "2023-01-01", capabilities: {} }),
      "handshake",
      /version of MCP that is not spoken here/,
    ],
    [
      "stream-ends",
      (_req, res) =>
        void res.writeHead(200, { "content-type": "text/event-stream" }).end(": hm\n\n"),
      "handshake",
      /ended its event stream before the answer/,
    ],
    [
      "loop",
      (req, res) => void res.writeHead(307, { location: req.url! }).end(),
      "transport",
      /redirects \(HTTP 307\), which is not followed/,
    ],
    ["reset", openResetting, "transport", /the connection was (?:reset|closed)/],
    ["refused", refusingUrl, "transport", /the connection was refused/],
    [
      "no-name",
      () => Promise.resolve("http://nowhere.invalid:9/mcp"),
      "transport",
      /its host name (?:is not known|could not be looked up)/,
    ],
    ["self-signed", openSelfSigned, "transport", /its certificate is self-signed/],
    ["silent", async () => (await openBlackHole()).url, "transport", /did not answer within 2 s/],
  ];

async function urlOf(behaviour: Handler | (() => Promise<string>)): Promise<string> {
  if (behaviour.length === 0) return (behaviour as () => Promise<string>)();
  const patient = await servePatient();
  patient.behave(behaviour as Handler);
  return patient.url;
}

describe("reasons", () => {
  it("P003, P067, P068, P069: every way to fail has its own, and none quotes a server or a credential", async () => {
    const lines: string[] = [];
    const spoken = ["log", "info", "warn", "error"].map((method) =>
      vi.spyOn(console, method as "log").mockImplementation(() => undefined),
    );
    onTestFinished(() => spoken.forEach((spy) => spy.mockRestore()));
    const servers: Record<string, object> = {};
    for (const [name, behaviour] of FAILURES)
      servers[name] = {
        url: await urlOf(behaviour),
        headers: { authorization: `Bearer ${SECRET}` },
      };
    const { gateway, url } = await setupGateway({
      plugins: [[health, { timeout: "2s", interval: "60s" }]],
      config: { servers: servers as never },
      client: false,
      log: pino({ level: "info" }, { write: (line: string) => void lines.push(line) }),
    });
    const read = (): ReturnType<typeof readDetails> => readDetails(url);
    await until(async () => {
      const known = (await read()).servers;
      return FAILURES.every(([name]) => known[name]?.reachable !== undefined);
    }, 15_000);
    const details = await read();
    for (const [name, , failed, reason] of FAILURES) {
      expect(details.servers[name]).toMatchObject({
        server: name,
        reachable: false,
        failed,
        reason: expect.stringMatching(reason),
      });
      expect(details.servers[name]!.reason).toContain(`Server "${name}" `);
    }
    const metrics = await (await gateway.manage()).metrics();
    expect(metrics).toMatch(/^server_health\{server="401"\} 0$/m);
    const logged = lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ plugin }) => plugin === "health");
    expect(logged).toContainEqual(
      expect.objectContaining({ server: "500", reachable: false, failed: "handshake" }),
    );
    expect(JSON.stringify([details, logged]) + metrics).not.toContain(SECRET);
    for (const spy of spoken) expect(spy).not.toHaveBeenCalled();
  });

  it("P061: servers of every kind are reachable: JSON, event stream, modern only, HTTP+SSE, child", async () => {
    const [json, stream] = [await servePatient(), await servePatient({ stream: true })];
    const modern = await serveNew(() => undefined);
    onTestFinished(() => modern.close());
    const { url } = await setupGateway({
      plugins: [health],
      config: {
        servers: {
          json: { url: json.url },
          stream: { url: stream.url },
          modern: { url: modern.url },
          sse: { url: await startOldSse(), transport: "sse" },
          child: { command: process.execPath, args: [SCRIPTED] },
          newChild: { command: process.execPath, args: [SCRIPTED, "--era", "modern"] },
        },
      },
      client: false,
    });
    const isThere = { reachable: true, latency: expect.any(Number) as number };
    await expect
      .poll(async () => (await readDetails(url)).servers)
      .toMatchObject({
        json: { ...isThere, type: "streamable-http" },
        stream: isThere,
        modern: isThere,
        sse: isThere,
        child: { ...isThere, type: "stdio" },
        newChild: isThere,
      });
    expect(json.requests.filter(({ method }) => method === "DELETE")).toHaveLength(1);
  });

  it("names the list rung when a server answers but its lists cannot be read", async () => {
    const patient = await servePatient();
    patient.behave((req, res, body) => {
      if (req.method !== "POST") return void res.writeHead(405).end();
      if (body.id === undefined) return void res.writeHead(202).end();
      if (body.method === "initialize")
        return rpc(res, body.id, { protocolVersion: "2025-11-25", capabilities: { tools: {} } });
      rpc(res, body.id, undefined, { code: -32000, message: "database is locked" });
    });
    const { url, gateway } = await setupGateway({
      plugins: [[health, { interval: "100ms" }]],
      config: { servers: { half: { url: patient.url } } },
      client: false,
    });
    await expect
      .poll(async () => (await readDetails(url)).servers["half"])
      .toMatchObject({
        reachable: true,
        failed: "list",
        reason:
          'Server "half" answers, but not to all it should: a list could not be read, or a ping got no answer.',
      });
    expect(await (await gateway.manage()).metrics()).toMatch(
      /^server_health\{server="half"\} 0\.5$/m,
    );
  });
});
