import { connect } from "node:net";
import fc from "fast-check";
import { pino } from "pino";
import { createGateway, type Gateway, definePlugin } from "propylon";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { rawRequest, shot, type Shot } from "./nonsense.ts";
import { Speaker, type Era, type Message, type Reply } from "./speaker.ts";
import { PATIENCE } from "../fixtures/ci.ts";

/** For each request of raw HTTP five messages of JSON-RPC. */
const REQUESTS = Number(process.env["FUZZ_REQUESTS"] ?? 700);
const MESSAGES = 5 * REQUESTS;
const BATCH = 100;
/** RFC 9112, section 6.1: a transfer coding that a server does not know is answered with 501. */
const FOREIGN_CODING = /^transfer-encoding: gzip/im;
const ERAS: readonly Era[] = ["legacy", "modern"];

const target = definePlugin({
  name: "target",
  setup(gateway) {
    gateway.tool("echo", {
      description: "Says it back.",
      input: z.looseObject({ text: z.string() }),
      run: ({ text }) => text,
    });
    gateway.tool("anything", {
      description: "Takes any object.",
      input: { type: "object" },
      run: (args) => ({ args }),
    });
    gateway.tool("broken", {
      description: "Always fails.",
      run: () => {
        throw new Error("inner secret");
      },
    });
    gateway.resource("one", { uri: "memo://one", read: () => ({ text: "one" }) });
    gateway.resource("memo", {
      uriTemplate: "memo://{id}",
      read: ({ id }) => ({ text: id ?? "" }),
    });
    gateway.prompt("greet", {
      arguments: [{ name: "who" }],
      get: ({ who }) => ({
        messages: [{ role: "user", content: { type: "text", text: who ?? "" } }],
      }),
    });
    gateway.route("POST", "/route", { access: "public", mutates: true }, () => ({ ok: true }));
  },
});

let gateway: Gateway;
let url: string;
let origin: string;
const speakers = {} as Record<Era, Speaker>;
const rejections: unknown[] = [];
const fatal: string[] = [];

beforeAll(async () => {
  process.on("unhandledRejection", (error) => rejections.push(error));
  const log = pino({ level: "error" }, { write: (line: string) => fatal.push(line) });
  const limits = { requestTimeout: "2s", headersTimeout: "2s", body: "256KiB" };
  gateway = await createGateway(
    { listeners: { main: { port: 0 } }, plugins: { target: {} }, limits },
    { plugins: { target }, log },
  );
  await gateway.listen();
  url = gateway.endpoints[0]!.url;
  origin = new URL(url).origin;
  for (const era of ERAS) speakers[era] = await Speaker.open(url, era);
});

afterAll(async () => {
  for (const era of ERAS) await speakers[era].close();
  await gateway.close({ grace: 1_000 });
});

/** The gateway still answers, and nothing was thrown into the void. */
async function expectHealthy(): Promise<void> {
  for (const era of ERAS) expect(await speakers[era].call("echo", { text: "alive" })).toBe("alive");
  expect(rejections).toEqual([]);
}

async function fire({ era, value, complete, damage: harm, headers }: Shot): Promise<void> {
  const speaker = speakers[era];
  // Most modern messages get their obligatory _meta, else none would pass the first check.
  const whole =
    era === "modern" && complete > 0 && isRequest(value)
      ? speaker.message(value.method, asParams(value.params), value.id)
      : value;
  const body = harm(JSON.stringify(whole) ?? "");
  const reply = await speaker.send(body, { ...speaker.headersFor(whole), ...headers });
  judge(body, reply);
}

function isRequest(
  value: unknown,
): value is { method: string; params?: unknown; id: string | number } {
  return (
    typeof value === "object" &&
    value !== null &&
    "method" in value &&
    typeof value.method === "string" &&
    "id" in value
  );
}

function asParams(value: unknown): Message {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Message)
    : {};
}

/** No 5xx, and every answer bears the id of a request in the body, or null. */
function judge(body: string, { status, messages }: Reply): void {
  if (status >= 500 || status < 200) throw new Error(`status ${status} for ${body}`);
  const allowed = new Set<unknown>(idsOf(body));
  for (const answer of messages) {
    if (answer["jsonrpc"] !== "2.0")
      throw new Error(`no JSON-RPC: ${JSON.stringify(answer)} for ${body}`);
    if ("method" in answer) continue;
    if ("result" in answer === "error" in answer)
      throw new Error(`neither or both: ${JSON.stringify(answer)} for ${body}`);
    if (answer["id"] !== null && answer["id"] !== undefined && !allowed.has(answer["id"]))
      throw new Error(`wrong id: ${JSON.stringify(answer)} for ${body}`);
    if (JSON.stringify(answer).includes("inner secret"))
      throw new Error(`leaked: ${JSON.stringify(answer)}`);
  }
}

function idsOf(body: string): unknown[] {
  try {
    const value: unknown = JSON.parse(body);
    return (Array.isArray(value) ? value : [value]).map((one: unknown) =>
      typeof one === "object" && one !== null && "id" in one ? one.id : undefined,
    );
  } catch {
    return [];
  }
}

describe("acceptance 8: hostile input", () => {
  it(
    `${MESSAGES} fuzzed JSON-RPC messages of both eras: no 5xx, ids right, alive afterwards`,
    { timeout: PATIENCE * 300_000 },
    async () => {
      const batch = fc.array(shot, { minLength: BATCH, maxLength: BATCH });
      await fc.assert(
        fc.asyncProperty(batch, async (shots) => {
          await Promise.all(shots.map(fire));
        }),
        { numRuns: MESSAGES / BATCH, endOnFailure: true },
      );
      await expectHealthy();
      expect(fatal.filter((line) => !line.includes("inner secret"))).toEqual([]);
    },
  );

  it(
    `${REQUESTS} raw HTTP requests: no 5xx, alive afterwards`,
    { timeout: PATIENCE * 300_000 },
    async () => {
      let thrown = 0;
      const batch = fc.array(rawRequest(new URL(origin).host), {
        minLength: BATCH,
        maxLength: BATCH,
      });
      await fc.assert(
        fc.asyncProperty(batch, async (raws) => {
          await Promise.all(raws.map(throwAt));
          thrown += raws.length;
        }),
        { numRuns: REQUESTS / BATCH, endOnFailure: true },
      );
      await expectHealthy();
      expect(thrown).toBe(REQUESTS);
    },
  );

  describe.each(ERAS)("%s", (era) => {
    const echo = { name: "echo", arguments: { text: "x" } };
    const valid = (): string => JSON.stringify(speakers[era].message("tools/call", echo, 7));
    const cases: readonly (readonly [
      title: string,
      body: () => string | Buffer,
      status: number,
    ])[] = [
      ["an oversize body", () => valid().replace('"x"', JSON.stringify("x".repeat(300_000))), 413],
      ["a deep body", () => valid().replace('"x"', "[".repeat(1_000) + "]".repeat(1_000)), 400],
      ["a hundred thousand open brackets", () => "[".repeat(100_000), 400],
      ["a truncated body", () => valid().slice(0, -10), 400],
      ["an empty body", () => "", 400],
      ["no JSON", () => "hello", 400],
      ["a form", () => "method=tools/call&id=1", 400],
      [
        "invalid UTF-8",
        () => Buffer.concat([Buffer.from(valid().slice(0, -2)), Buffer.from([0xff, 0xfe, 0x7d])]),
        400,
      ],
      ["a number", () => "42", 400],
      ["null", () => "null", 400],
      ["an empty batch", () => "[]", 400],
      ["an id that is an object", () => valid().replace('"id":7', '"id":{}'), 400],
      ["a wrong jsonrpc", () => valid().replace('"2.0"', '"1.0"'), 400],
      ["keys in other case", () => valid().replace('"method"', '"METHOD"'), 400],
    ];

    it.each(cases)("refuses %s with a sentence", async (_title, body, status) => {
      const headers = speakers[era].headersFor(speakers[era].message("tools/call", echo, 7));
      const reply = await speakers[era].send(body(), headers);
      expect(reply.status).toBe(status);
      expect(reply.messages[0]).toMatchObject({
        jsonrpc: "2.0",
        error: { code: expect.any(Number), message: expect.stringMatching(/^[A-Z].*\.$/) },
      });
      await expectHealthy();
    });

    it("T13: of duplicate keys the last counts, everywhere alike", async () => {
      const speaker = speakers[era];
      const body = valid().replace(
        '"text":"x"',
        '"text":"first","text":"last","Text":"other","__proto__":{"text":"proto"}',
      );
      const { messages } = await speaker.send(body, speaker.headersFor(JSON.parse(valid())));
      expect(messages[0]).toMatchObject({ id: 7, result: { content: [{ text: "last" }] } });
    });
  });
});

/** Sends the bytes, says that no more will come, and reads until the gateway hangs up. */
function throwAt(bytes: Buffer): Promise<void> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const text = bytes.toString("latin1");
    let said = "";
    const tooLong = setTimeout(
      () => finish(new Error(`no end after ${JSON.stringify(bytes.toString())}: ${said}`)),
      20_000,
    );
    const finish = (error?: Error): void => {
      clearTimeout(tooLong);
      socket.destroy();
      if (error) reject(error);
      else resolve();
    };
    socket.on("data", (chunk) => (said += chunk.toString("latin1")));
    socket.on("error", () => {});
    socket.on("close", () => {
      const worst = [...said.matchAll(/^HTTP\/1\.1 (\d{3})/gm)]
        .map(([, status]) => Number(status))
        .find((status) => status >= 500 && !(status === 501 && FOREIGN_CODING.test(text)));
      finish(
        worst === undefined
          ? undefined
          : new Error(`status ${worst} for ${JSON.stringify(bytes.toString())}: ${said}`),
      );
    });
    socket.end(bytes);
  });
}
