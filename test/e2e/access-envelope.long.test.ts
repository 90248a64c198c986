import { once } from "node:events";
import { request as httpRequest } from "node:http";
import fc from "fast-check";
import { HTTPError } from "h3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  configSchema,
  createGateway,
  createLogger,
  definePlugin,
  GatewayError,
  type ErrorCode,
  type Gateway,
} from "../../core/index.ts";
import { ERROR_STATUS } from "../../core/internal.ts";
import { rounds } from "../fixtures/ci.ts";

/** What must never be seen: each stands for something that programs give away. */
const CANARY = {
  secret: "canary-secret-1f9a",
  path: "/srv/canary-path/plugin.ts",
  stack: "at canaryFrame",
  body: "canary-body-77c0",
  query: "canary-query-52d1",
  key: "canary-key-of-16-chars",
} as const;

function bug(): Error {
  const error = new Error(`connect ${CANARY.path} with ${CANARY.secret}`);
  error.stack = `Error: ${error.message}\n    ${CANARY.stack} (${CANARY.path}:1:1)`;
  return error;
}

/** Everything a handler may throw or do wrong, and the code it comes out as. */
const THROWS: Readonly<Record<string, readonly [() => unknown, ErrorCode]>> = {
  error: [() => raise(bug()), "internal"],
  rejected: [() => Promise.reject(bug()), "internal"],
  returned: [() => bug(), "internal"],
  text: [() => raise(CANARY.secret), "internal"],
  nothing: [() => raise(undefined), "internal"],
  number: [() => raise(404), "internal"],
  object: [() => raise({ statusCode: 400, message: CANARY.secret }), "internal"],
  aggregate: [() => raise(new AggregateError([bug()], CANARY.secret)), "internal"],
  caused: [() => raise(new GatewayError("invalid", "No.", { cause: bug() })), "invalid"],
  teapot: [() => raise(new HTTPError({ status: 418, message: "Tea." })), "bad_request"],
  conflict: [() => raise(new HTTPError({ status: 409, message: "Taken." })), "exists"],
  broken: [() => raise(new HTTPError({ status: 503, message: CANARY.secret })), "internal"],
  unserialisable: [() => ({ big: 1n, secret: CANARY.secret }), "internal"],
  circular: [() => circular(), "internal"],
  hostile: [() => ({ toJSON: () => raise(bug()) }), "internal"],
  ...Object.fromEntries(
    Object.keys(ERROR_STATUS)
      .filter((code) => code !== "cancelled")
      .map((code) => [
        `code-${code}`,
        [
          () => raise(new GatewayError(code as ErrorCode, "Said so.", { cause: bug() })),
          code as ErrorCode,
        ],
      ]),
  ),
};

function raise(thrown: unknown): never {
  throw thrown;
}

function circular(): object {
  const ring: Record<string, unknown> = { secret: CANARY.secret };
  ring["self"] = ring;
  return ring;
}

const faulty = definePlugin({
  name: "faulty",
  setup(gateway) {
    for (const [name, [run]] of Object.entries(THROWS))
      for (const method of ["GET", "POST"] as const)
        gateway.route(
          method,
          `/throws/${name}`,
          { access: "public", mutates: method === "POST" },
          run,
        );
    gateway.route("GET", "/guarded/:id", { access: "admin", mutates: false }, () => ({ ok: true }));
    gateway.route("POST", "/guarded/:id", { access: "admin", mutates: true }, () => ({ ok: true }));
    gateway.route("POST", "/read", { access: "public", mutates: false }, async ({ req }) => ({
      ok: true,
      length: (await req.text()).length,
    }));
    gateway.route("GET", "/files/**", { access: "public", mutates: false }, () => ({ ok: true }));
  },
});

let gateway: Gateway;
let port: number;
const lines: string[] = [];

beforeAll(async () => {
  const log = await createLogger(configSchema.parse({}).log, {
    write: (line) => void lines.push(line),
  });
  gateway = await createGateway(
    {
      listeners: { main: { port: 0 } },
      auth: { apiKey: CANARY.key },
      limits: { body: 4096 },
      plugins: { faulty: {} },
    },
    { plugins: { faulty }, log },
  );
  await gateway.listen();
  port = gateway.addresses.get("main")!.port;
});
afterAll(() => gateway.close({ grace: 500 }));

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

async function send(
  method: string,
  path: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  // Node would send the body of a GET without saying how long it is.
  const length = body !== undefined && { "content-length": Buffer.byteLength(body) };
  const req = httpRequest({
    host: "127.0.0.1",
    port,
    method,
    path,
    headers: { ...headers, ...length },
    agent: false,
  });
  req.end(body);
  const [res] = await once(req, "response");
  let text = "";
  for await (const chunk of res) text += String(chunk);
  return { status: res.statusCode, type: String(res.headers["content-type"]), body: text };
}

/** What is wrong with an answer; nothing, if it is a success or a whole envelope with a code of that status. */
function flawOf({ status, type, body }: Answer, method: string): string | undefined {
  for (const [name, canary] of Object.entries(CANARY))
    if (body.includes(canary)) return `tells the ${name}`;
  if (/node_modules|\bat .+:\d+:\d+|\.ts\b/.test(body)) return `tells a stack: ${body}`;
  if (status < 400 || method === "HEAD") return undefined;
  if (type !== "application/json") return `is of type ${type}`;
  const parsed = JSON.parse(body) as { ok: unknown; error: { code: ErrorCode; message: unknown } };
  const keys = Object.keys(parsed).toSorted().join(" ");
  if (parsed.ok !== false || keys !== "error ok") return `is no envelope: ${body}`;
  const { code, message, ...rest } = parsed.error;
  if (typeof message !== "string" || message === "") return "has no message";
  if (Object.keys(rest).some((key) => key !== "hint" && key !== "data")) return `has more: ${body}`;
  return ERROR_STATUS[code] === status ? undefined : `has code ${code} with status ${status}`;
}

describe("M012, M103, M141, M156: every failure is the envelope, with the code of its status", () => {
  it.each(Object.keys(THROWS))("a handler that throws: %s", async (name) => {
    const [, code] = THROWS[name]!;
    for (const method of ["GET", "POST"]) {
      const answer = await send(method, `/throws/${name}`);
      expect(flawOf(answer, method)).toBeUndefined();
      expect(answer.status).toBe(ERROR_STATUS[code]);
      expect(JSON.parse(answer.body)).toMatchObject({ ok: false, error: { code } });
    }
    expect((await send("HEAD", `/throws/${name}`)).status).toBe(ERROR_STATUS[code]);
  });

  it("a refusal: 401, 403 of each kind, 404, 405, 413", async () => {
    const key = { authorization: `Bearer ${CANARY.key}` };
    const refusals: [string, string, Parameters<typeof send>[2], ErrorCode][] = [
      ["GET", "/guarded/1", {}, "unauthorized"],
      ["GET", "/guarded/1", { headers: { authorization: "Bearer wrong" } }, "unauthorized"],
      ["GET", "/guarded/1", { headers: { authorization: "nonsense" } }, "unauthorized"],
      ["GET", "/guarded/1", { headers: { ...key, host: "evil.example" } }, "forbidden"],
      ["GET", "/guarded/1", { headers: { ...key, origin: "http://evil.example" } }, "forbidden"],
      ["GET", `/nothing?${CANARY.query}`, {}, "not_found"],
      ["DELETE", "/guarded/1", { headers: key }, "method_not_allowed"],
      ["OPTIONS", "/guarded/1", {}, "method_not_allowed"],
      ["POST", "/", {}, "method_not_allowed"],
      ["POST", "/read", { body: "x".repeat(5_000) }, "too_large"],
    ];
    for (const [method, path, options, code] of refusals) {
      const answer = await send(method, path, options);
      expect([path, flawOf(answer, method)]).toEqual([path, undefined]);
      expect([method, path, JSON.parse(answer.body).error.code]).toEqual([method, path, code]);
    }
  });
});

/** Requests that are right in some respects and wrong in others. */
const segment = fc.oneof(
  fc.constantFrom("throws", "guarded", "read", "files", "mcp", "_meta", "livez", "", ".", ".."),
  fc.constantFrom(...Object.keys(THROWS)),
  fc.constantFrom("%2e%2e", "%", "%zz", "%00", "%2f", ":id", "**", "*", ";a=b", "__proto__", "\\"),
  fc.webSegment(),
);
const shot = fc.record({
  method: fc.constantFrom(
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "TRACE",
    "PROPFIND",
    "M-SEARCH",
  ),
  path: fc.tuple(
    fc.array(segment, { maxLength: 5 }),
    fc.constantFrom("", "?", `?token=${CANARY.query}`, "?a[]=1&a", "?%"),
  ),
  body: fc.option(
    fc.oneof(fc.json(), fc.string(), fc.constantFrom(`{"x":"${CANARY.body}"`, "x".repeat(9_000))),
    { nil: undefined },
  ),
  headers: fc.record(
    {
      authorization: fc.constantFrom(
        `Bearer ${CANARY.key}`,
        "Bearer wrong",
        "Basic x",
        "Basic Ong=",
        "Bearer a.b.c",
        "x",
      ),
      "content-type": fc.constantFrom("application/json", "text/plain", "multipart/form-data", "/"),
      accept: fc.constantFrom("*/*", "text/html", "text/event-stream", "application/json"),
      origin: fc.constantFrom("null", "http://evil.example", "http://127.0.0.1"),
      "content-encoding": fc.constantFrom("gzip", "br", "x"),
      "x-forwarded-for": fc.constantFrom("1.2.3.4", "::1"),
    },
    { requiredKeys: [] },
  ),
});

it("M103: 3,000 requests of any method, path, header and body are answered with the envelope or a success", async () => {
  await fc.assert(
    fc.asyncProperty(shot, async ({ method, path: [segments, query], body, headers }) => {
      const path = encodeURI(`/${segments.join("/")}`).replaceAll("%25", "%") + query;
      const answer = await send(method, path, { headers, ...(body !== undefined && { body }) });
      // MCP answers in JSON-RPC, probes in plain text.
      const isOther = /^\/(?:mcp|livez|readyz)(?:\?|$)/.test(path);
      const flaw = isOther ? undefined : flawOf(answer, method);
      expect([method, path, answer.status, flaw]).toEqual([method, path, answer.status, undefined]);
    }),
    { numRuns: rounds(3_000) },
  );
});

it("M121: no log line holds a key, a query or a body, and a stack stands only where a handler failed unforeseen", () => {
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) {
    for (const canary of [CANARY.key, CANARY.query, CANARY.body])
      expect(line).not.toContain(canary);
    const { msg, level } = JSON.parse(line) as { msg: string; level: string };
    const isFailure = msg === "a route failed" && level === "error";
    expect(isFailure || !line.includes(CANARY.stack)).toBe(true);
  }
});
