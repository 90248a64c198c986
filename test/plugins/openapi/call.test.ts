import { describe, expect, it } from "vitest";
import { createSlow, EVERYTHING, post, refusal, startOpenapi } from "./support.ts";

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
});
