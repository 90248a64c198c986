import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../core/testing/index.ts";
import { main, workFolder } from "../../e2e/build.ts";
import { mortal } from "../../fixtures/process/mortal.mjs";
import { usedTime } from "../../fixtures/process/used-time.mjs";
import { until } from "../../kit/until.ts";

/** Milliseconds that a request of anybody else waits at most for what the loop of the gateway does. */
const HELD = 100;
const HEAD = '"openapi":"3.1.0","info":{"title":"t","version":"1"}';
const MIB = 1024 * 1024;

let folder: string;
beforeAll(async () => {
  folder = await workFolder();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A gateway as a process of its own, whose config is written and read again. */
class Running {
  readonly lines: string[] = [];
  readonly #file: string;
  readonly #port: number;
  #child: ChildProcess | undefined;

  constructor(port: number) {
    this.#port = port;
    this.#file = join(folder, `gateway-${port}.json`);
  }

  async write(servers: object): Promise<void> {
    const listeners = { main: { port: this.#port } };
    await writeFile(this.#file, JSON.stringify({ listeners, log: { format: "json" }, servers }));
  }

  async start(): Promise<void> {
    const child = spawn(...mortal(process.execPath, [main, "start", this.#file]), {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    onTestFinished(() => void child.kill("SIGKILL"));
    for (const output of [child.stdout, child.stderr])
      createInterface(output).on("line", (line) => this.lines.push(line));
    await until(() => this.livez().then(Boolean, () => false), 60_000);
  }

  /** Asks whether it is alive. @returns milliseconds that its loop was held by itself meanwhile */
  async livez(): Promise<number> {
    const before = usedTime(this.#child!.pid);
    const answer = await fetch(`http://127.0.0.1:${this.#port}/livez`);
    if (!answer.ok) throw new Error(`/livez answered with ${answer.status}`);
    await answer.arrayBuffer();
    return usedTime(this.#child!.pid) - before + 1;
  }

  /** Adds a server, while it serves. */
  async reload(servers: object): Promise<void> {
    await this.write(servers);
    this.#child!.kill("SIGHUP");
  }

  /** What it said of the server, as soon as that matches. */
  said(pattern: RegExp): boolean {
    return this.lines.some((line) => line.includes('"server":"hostile"') && pattern.test(line));
  }

  async terminate(): Promise<{ code: number | null; took: number }> {
    const began = performance.now();
    const exit = once(this.#child!, "exit") as Promise<[number | null]>;
    this.#child!.kill("SIGTERM");
    const [code] = await exit;
    return { code, took: performance.now() - began };
  }
}

/** Serves a document. @returns its URL, and how often it was asked for */
async function serve(answer: (res: ServerResponse) => void) {
  const served = { spec: "", asked: 0 };
  const server = createServer((_req, res) => {
    served.asked++;
    answer(res);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  served.spec = `http://127.0.0.1:${(server.address() as AddressInfo).port}/openapi`;
  return served;
}

const whole = (text: string) => (res: ServerResponse) => void res.end(text);
const many = (count: number, each: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => each(at)).join(",");

/** Sends for ever, as fast as it is read. */
function endless(res: ServerResponse): void {
  res.writeHead(200).write(`{${HEAD},"x":"`);
  const chunk = "x".repeat(64 * 1024);
  const more = (): void => {
    while (!res.destroyed && res.write(chunk));
  };
  res.on("drain", more);
  more();
}

/** A gigabyte of spaces in a megabyte. */
function bomb(encoding: string, layers: number) {
  let bytes: Buffer = Buffer.concat(
    Array.from({ length: 64 }, () => gzipSync(Buffer.alloc(16 * MIB, 32))),
  );
  for (let layer = 1; layer < layers; layer++) bytes = gzipSync(bytes);
  return (res: ServerResponse) =>
    void res.writeHead(200, { "content-encoding": encoding }).end(bytes);
}

const yaml = `openapi: 3.1.0\ninfo: { title: t, version: "1" }\npaths: {}\nx:\n${many(400_000, (at) => `  k${at}: v\n`).replaceAll(",", "")}`;
const schemas = many(
  400,
  (at) =>
    `"S${at}":{"type":"object","properties":{${many(20, (to) => `"p${to}":{"$ref":"#/components/schemas/S${(at * 7 + to * 31) % 400}"}`)}}}`,
);
const web = `{${HEAD},"paths":{${many(300, (at) => `"/p${at}":{"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/S${at}"}}}},"responses":{}}}`)}},"components":{"schemas":{${schemas}}}}`;
const alike = `{${HEAD},"paths":{${many(15_000, (at) => `"/p${at}":{"get":{"operationId":"same","responses":{}}}`)}}}`;

const DOCUMENTS: [string, (res: ServerResponse) => void, RegExp][] = [
  ["keys: YAML of 400,000", whole(yaml), /in time|memory/],
  ["operations: 15,000 of one id", whole(alike), /"state":"ready"|characters/],
  ["references: 400 schemas in a web", whole(web), /"state":"ready"/],
  [
    "memory: 3 million lists",
    whole(`{${HEAD},"paths":{},"x":[${"[{}],".repeat(3_000_000)}[]]}`),
    /memory|in time/,
  ],
  [
    "17 MiB",
    whole(`{${HEAD},"paths":{},"x":"${"x".repeat(17 * MIB)}"}`),
    /longer than 16777216 bytes/,
  ],
  ["one that never ends, slowly", (res) => void res.writeHead(200).write("{"), /in time/],
  ["one that never ends, fast", endless, /longer than 16777216 bytes/],
  ["a gzip bomb", bomb("gzip", 1), /longer than 16777216 bytes/],
  ["a gzip bomb in a gzip bomb", bomb("gzip, gzip", 2), /not a map/],
];

/** Where the machine has much other work, one request stretches over several turns of the loop. */
const LIMITS = { timeout: 120_000, retry: 2 };

describe("S1-3: a reload that adds a hostile document", () => {
  it.each(DOCUMENTS)("%s: /livez never waits for it", LIMITS, async (_what, answer, outcome) => {
    const { spec } = await serve(answer);
    const gateway = new Running(await freePort());
    await gateway.write({});
    await gateway.start();
    await gateway.reload({ hostile: { type: "openapi", spec, connectTimeout: "8s" } });
    await until(() => gateway.said(/"state":"connecting"/), 60_000);
    let longest = 0;
    await until(async () => {
      longest = Math.max(longest, await gateway.livez());
      return gateway.said(outcome);
    }, 60_000);
    expect(longest).toBeLessThan(HELD);
  });
});

describe("S1-3: SIGTERM while a hostile document is read", () => {
  it.each([
    ["in its thread", whole(yaml)],
    [
      "from a host that sends for ever",
      (res: ServerResponse) => void res.writeHead(200).write("{"),
    ],
  ])("%s: ends the gateway", { timeout: 120_000 }, async (_what, answer) => {
    const served = await serve(answer);
    const gateway = new Running(await freePort());
    await gateway.write({
      hostile: { type: "openapi", spec: served.spec, connectTimeout: "120s" },
    });
    await gateway.start();
    await until(() => served.asked > 0, 60_000);
    const { code, took } = await gateway.terminate();
    expect(code).toBe(0);
    expect(took).toBeLessThan(5_000);
  });
});
