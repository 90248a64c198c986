import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { createGateway, type Gateway } from "propylon";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { checkMcp, type McpKitOptions } from "../../../plugins/conformance/mcp/kit.ts";
import { loadPeer } from "../../../plugins/conformance/peer.ts";
import { serveFixture, type Served } from "../../../plugins/conformance/mcp/fixture/serve.ts";
import { isConformant, type Report } from "../../../plugins/conformance/report.ts";
import { whenReady } from "../../contract/kit.ts";
import { troubleIn } from "./runtime.ts";

const MAIN = fileURLToPath(new URL("../../../dist/plugins/cli.js", import.meta.url));

let fixture: Served;
beforeAll(async () => void (fixture = await serveFixture()));
afterAll(() => fixture.close());

function check(url: string, options: Partial<McpKitOptions> = {}): Promise<Report> {
  return checkMcp({ url, eras: ["legacy", "modern"], headers: {}, timeout: 5_000, ...options });
}

async function startGateway(place: object, naming: "none" | "server" = "none"): Promise<Gateway> {
  const gateway = await createGateway(
    {
      listeners: { main: { port: 0 } },
      endpoints: { mcp: { naming } },
      servers: { fixture: place } as never,
    },
    { log: pino({ level: "silent" }) },
  );
  await gateway.listen();
  onTestFinished(() => gateway.close({ grace: 0 }));
  await whenReady(gateway.servers.get("fixture")!);
  return gateway;
}

it("finds nothing wrong with a bare SDK server, in either era", async () => {
  const report = await check(fixture.url);
  expect(troubleIn(report)).toEqual({
    "legacy/progress/increasing": expect.stringMatching(/^skipped: This is the fixture itself/),
    "modern/progress/increasing": expect.stringMatching(/^skipped: This is the fixture itself/),
  });
  expect(isConformant(report)).toBe(true);
});

it("our gateway relays everything, to clients of both eras", async () => {
  const gateway = await startGateway({ url: fixture.url });
  const report = await check(gateway.endpoints[0]!.url);
  expect(troubleIn(report)).toEqual({});
  expect(report.results).toHaveLength(46);
  expect(isConformant(report)).toBe(true);
});

it("finds the fixture behind the names that a gateway gives its tools, over stdio too", async () => {
  const command = { command: process.execPath, args: [MAIN, "conformance", "fixture", "--stdio"] };
  const gateway = await startGateway(command, "server");
  const report = await check(gateway.endpoints[0]!.url, { eras: ["legacy"] });
  expect(troubleIn(report)).toEqual({});
  expect(report.results).toHaveLength(23);
});

it("says what can only be seen with the fixture, where it is not", async () => {
  const gateway = await createGateway(
    { listeners: { main: { port: 0 } } },
    { log: pino({ level: "silent" }) },
  );
  await gateway.listen();
  onTestFinished(() => gateway.close({ grace: 0 }));
  const report = await check(gateway.endpoints[0]!.url);
  expect(report.results.filter(({ outcome }) => outcome === "failed")).toEqual([]);
  expect(troubleIn(report)).toMatchObject({
    "modern/tools/call": expect.stringMatching(/^skipped: /),
    "legacy/cancel": expect.stringMatching(/^skipped: /),
  });
  const passed = report.results.filter(({ outcome }) => outcome === "passed");
  expect(passed.map(({ id }) => id)).toContain("modern/errors/method");
});

/** How a relay may spoil what goes through it: a text in the answers of the fixture, and what stands there instead. */
const SPOILS: Readonly<Record<string, readonly [RegExp, string]>> = {
  "tools/list": [/"name":"relay_sample"/g, '"name":"relay_echo"'],
  "tools/call": [/"type":"image"/g, '"type":"audio"'],
  "errors/result": [/"isError":true/g, '"isError":false'],
  "errors/method": [/-32601/g, "-32000"],
  progress: [/"progress":2/g, '"progress":7'],
  elicitation: [/the user says/g, "the user was silent"],
  "prompts/get": [/What is known of/g, "What is unknown of"],
  completion: [/"park",/g, ""],
  "resources/read": [/never changes/g, "always changes"],
};

it("names what a relay spoils", async () => {
  const url = await startSpoiler(fixture.url);
  const report = await check(url, { eras: ["legacy"], timeout: 2_000 });
  const failed = report.results.filter(({ outcome }) => outcome === "failed");
  expect(failed.map(({ id }) => id)).toEqual(
    expect.arrayContaining(Object.keys(SPOILS).map((id) => `legacy/${id}`)),
  );
  expect(isConformant(report)).toBe(false);
});

it("tells that nobody is there, and keeps credentials out of it", async () => {
  await expect(check("http://me:secret@127.0.0.1:9/mcp?key=secret")).rejects.toThrow(
    /^No client could connect to http:\/\/127\.0\.0\.1:9\/mcp: /,
  );
});

it("names the package to install where an SDK is not there, and hides no other failure", async () => {
  const missing = Object.assign(new Error("no"), { code: "ERR_MODULE_NOT_FOUND" });
  await expect(loadPeer("@x/sdk", () => Promise.reject(missing))).rejects.toMatchObject({
    code: "invalid",
    message: "The package @x/sdk is not installed.",
    hint: "Run npm install @x/sdk.",
  });
  await expect(loadPeer("@x/sdk", () => Promise.reject(new Error("broken")))).rejects.toThrow(
    "broken",
  );
});

/** A relay that changes what it relays; streams piece by piece. */
async function startSpoiler(target: string): Promise<string> {
  const server = createServer((req, res) => {
    const { host: _host, "accept-encoding": _encoding, ...headers } = req.headers;
    const onward = request(target, { method: req.method, headers }, (reply) => {
      const { "content-length": _length, ...kept } = reply.headers;
      res.writeHead(reply.statusCode!, kept);
      reply.setEncoding("utf8").on("data", (chunk: string) => {
        res.write(spoiled(chunk));
      });
      reply.on("end", () => res.end());
    });
    onward.on("error", () => res.destroy());
    res.on("close", () => onward.destroy());
    req.pipe(onward);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

function spoiled(chunk: string): string {
  return Object.values(SPOILS).reduce(
    (text, [from, instead]) => text.replaceAll(from, instead),
    chunk,
  );
}
