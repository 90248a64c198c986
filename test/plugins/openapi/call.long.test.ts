import fc from "fast-check";
import { definePlugin, type ErrorCode } from "propylon";
import { ERROR_STATUS } from "propylon/internal";
import { describe, expect, it } from "vitest";
import { UNHURRIED } from "../../fixtures/ci.ts";
import { createSlow, EVERYTHING, get, post, refusal, startOpenapi } from "./support.ts";

const servers = { servers: { everything: EVERYTHING } };

describe("POST /:server/:tool", () => {
  it("M012 M068: calls a tool of an upstream on both routes, from the first request on", async () => {
    const { url } = await startOpenapi({}, [], servers);
    for (const path of ["/everything/echo", "/_everything/echo"]) {
      const { status, body } = await post(`${url}${path}`, { message: "hello" });
      expect(status).toBe(200);
      expect(body).toEqual({
        ok: true,
        result: "Echo: hello",
        output: { items: [{ type: "text", value: "Echo: hello" }] },
      });
    }
  });

  it("calls a tool of a plugin", async () => {
    const { url } = await startOpenapi({}, [createSlow().plugin]);
    const { body } = await post(`${url}/slow/strict`, { amount: 21 });
    expect(body).toMatchObject({ ok: true, result: 42 });
  });

  it("refuses with the right code what cannot be a call", async () => {
    const { url } = await startOpenapi({}, [createSlow().plugin], servers);
    const echo = `${url}/everything/echo`;
    const cases: [Promise<{ status: number; body: unknown }>, number, string][] = [
      [post(echo, "{"), 400, "bad_request"],
      [post(echo, "[1]"), 422, "invalid"],
      [post(echo, "hi", { "content-type": "text/plain" }), 415, "unsupported_media_type"],
      [post(echo, { message: "x".repeat(5_000_000) }), 413, "too_large"],
      [post(echo, `${"[".repeat(100)}${"]".repeat(100)}`), 400, "bad_request"],
      [post(echo, { message: 1 }), 422, "invalid"],
      [post(`${url}/slow/strict`, { amount: "1" }), 422, "invalid"],
      [post(`${url}/everything/none`), 404, "not_found"],
      [post(`${url}/none/echo`), 404, "not_found"],
      [post(`${url}/_meta/echo`), 404, "not_found"],
      [post(`${url}/mcp/echo`), 404, "not_found"],
      [post(`${url}/%E0%A4%A/echo`), 400, "bad_request"],
      [post(`${url}/slow/fail`), 502, "upstream_error"],
    ];
    for (const [reply, status, code] of cases) {
      const { status: got, body } = await reply;
      expect({ got, body }).toEqual({ got: status, body: refusal(code) });
    }
    const method = await fetch(echo);
    expect(method.status).toBe(405);
    expect(method.headers.get("allow")).toContain("POST");
  });

  it("names the failing path of wrong arguments", async () => {
    const { url } = await startOpenapi({}, [], servers);
    const { body } = await post(`${url}/everything/get-sum`, { a: "one" });
    expect(body.error.data.problems).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ path: "a" }),
        expect.objectContaining({ path: "b" }),
      ]),
    );
  });

  it("answers in the form that is asked for, or configured", async () => {
    const { plugin } = createSlow();
    const { url } = await startOpenapi({}, [plugin]);
    const as = (format: string) =>
      post(`${url}/slow/strict`, { amount: 1 }, { "x-result-format": format });
    expect((await as("raw")).body).toBe(2);
    expect((await as("result")).body).toEqual({ ok: true, result: 2 });
    expect((await as("Envelope")).body).toHaveProperty("output");
    expect(await as("xml")).toMatchObject({ status: 422, body: refusal("invalid") });
    const raw = await startOpenapi({ format: "raw" }, [createSlow().plugin]);
    expect((await post(`${raw.url}/slow/strict`, { amount: 3 })).body).toBe(6);
  });

  it("M011: gives structured output of an upstream as data", async () => {
    const { url } = await startOpenapi({}, [], servers);
    const { body } = await post(`${url}/everything/get-structured-content`, {
      location: "New York",
    });
    expect(body.output.items[0]).toEqual({ type: "object", value: body.result });
    expect(body.result).toHaveProperty("temperature");
    const image = await post(`${url}/everything/get-tiny-image`);
    expect(image.body.output.items).toContainEqual(
      expect.objectContaining({ type: "image", mimeType: "image/png" }),
    );
  });

  it("tells a failing tool's own words, and all of its content", async () => {
    const { url } = await startOpenapi({}, [createSlow().plugin]);
    expect(await post(`${url}/slow/fail`)).toMatchObject({
      status: 502,
      body: {
        ok: false,
        error: {
          code: "upstream_error",
          message: "the disk is full",
          data: { isError: true, content: [{ type: "text", text: "the disk is full" }] },
        },
      },
    });
    const problem = await post(`${url}/slow/fail`, {}, { accept: "application/problem+json" });
    expect(problem.headers.get("content-type")).toBe("application/problem+json");
    expect(problem.body).toMatchObject({ status: 502, title: "upstream_error" });
  });

  it("tells a tool's failure with the status that is configured, and no other failure", async () => {
    const { plugin } = createSlow();
    const { url } = await startOpenapi({ toolFailureStatus: 200 }, [plugin]);
    const failure = { status: 200, body: refusal("upstream_error") };
    expect(await post(`${url}/slow/fail`)).toMatchObject(failure);
    expect(await post(`${url}/slow/fail`, {}, { "x-result-format": "raw" })).toMatchObject(failure);
    expect((await post(`${url}/slow/strict`, { amount: "x" })).status).toBe(422);
    expect((await post(`${url}/slow/none`)).status).toBe(404);
  });

  it("never calls a tool that the config leaves out", async () => {
    const { url } = await startOpenapi({}, [], {
      servers: { everything: { ...EVERYTHING, tools: { exclude: ["echo"] } } },
    });
    const excluded = await post(`${url}/everything/echo`, { message: "x" });
    expect(excluded).toMatchObject({ status: 404, body: refusal("not_found") });
    const { body } = await get(`${url}/everything/openapi.json`);
    expect(Object.keys(body.paths)).not.toContain("/echo");
    expect((await post(`${url}/everything/get-sum`, { a: 1, b: 1 })).status).toBe(200);
  });

  it("passes trace context on, and says what each stage took where that is wanted", async () => {
    const seen: unknown[] = [];
    const watcher = definePlugin({
      name: "watcher",
      setup: (gateway) =>
        gateway.use("observe", (call, next) => {
          seen.push([call.source, call.meta]);
          return next(call);
        }),
    });
    const { url } = await startOpenapi({ serverTiming: true }, [createSlow().plugin, watcher]);
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const { headers } = await post(`${url}/slow/strict`, { amount: 1 }, { traceparent });
    expect(seen).toEqual([["http", { traceparent }]]);
    const stages = headers
      .get("server-timing")!
      .split(", ")
      .map((entry) => entry.split(";")[0]);
    expect(stages).toEqual([
      "observe",
      "gate",
      "limit",
      "validate",
      "deadline",
      "breaker",
      "upstream",
      "reply",
      "total",
    ]);
  });

  it("answers 1,000 calls at a time, each with its own result", async () => {
    const { url } = await startOpenapi({}, [], { ...servers, limits: UNHURRIED });
    const calls = Array.from({ length: 1_000 }, (_, n) =>
      post(`${url}/everything/echo`, { message: `call ${n}` }),
    );
    const results = (await Promise.all(calls)).map(({ body }) => body.result);
    expect(results).toEqual(Array.from({ length: 1_000 }, (_, n) => `Echo: call ${n}`));
  });

  it("M012: answers whatever is sent with the envelope", async () => {
    const { url } = await startOpenapi({}, [createSlow().plugin]);
    const segment = fc.oneof(
      fc.constantFrom("slow", "_slow", "strict", "invoke", "_meta"),
      fc.string(),
    );
    await fc.assert(
      fc.asyncProperty(
        segment,
        segment,
        fc.oneof(fc.string(), fc.json()),
        async (server, tool, body) => {
          const path = [server, tool].map(encodeURIComponent).join("/");
          const response = await fetch(`${url}/${path}`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body,
          });
          const answer = (await response.json()) as { ok: boolean; error?: { code: ErrorCode } };
          expect(answer.ok).toBe(response.ok);
          expect(ERROR_STATUS[answer.error?.code ?? "internal"]).toBe(
            answer.ok ? ERROR_STATUS.internal : response.status,
          );
          expect(answer.error?.code).not.toBe("internal");
        },
      ),
      { numRuns: 300 },
    );
  });
});
