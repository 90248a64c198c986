import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { askPlugin, askPluginLines } from "../../../core/cli/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";

interface Reply {
  readonly status: number;
  readonly body?: string;
  readonly location?: string;
}

/** A program that answers every request in one way, and what was asked of it. */
async function startProgram({ status, body = "", location }: Reply) {
  const requests: { req: IncomingMessage; body: string }[] = [];
  const server = createServer((req, res) => {
    void text(req).then((sent) => {
      requests.push({ req, body: sent });
      res.writeHead(status, { ...(location !== undefined && { location }) }).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { target: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

it("asks below the routes of the plugin, with the key and what has a value", async () => {
  const { target, requests } = await startProgram({ status: 200, body: '{"ok":true}' });
  const answer = await askPlugin(
    { target, apiKey: "a-key" },
    {
      plugin: "one",
      method: "POST",
      path: "/a",
      query: { b: "c d", e: undefined },
      body: { f: 1 },
    },
  );
  expect(answer).toEqual({ ok: true });
  const [{ req, body }] = requests as [(typeof requests)[0]];
  expect([req.method, req.url, body]).toEqual(["POST", "/_meta/one/a?b=c+d", '{"f":1}']);
  expect(req.headers).toMatchObject({
    authorization: "Bearer a-key",
    "content-type": "application/json",
  });
});

it("tells each refusal by its code, and in the words of the gateway", async () => {
  const codes = {
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    409: "exists",
    422: "invalid",
    429: "rate_limited",
    500: "upstream_error",
    200: "upstream_error",
  };
  for (const [status, code] of Object.entries(codes)) {
    const body = status === "200" ? "[]" : '{"error":{"message":"So not.","hint":"Do that."}}';
    const { target } = await startProgram({ status: Number(status), body });
    const words =
      status === "200"
        ? { message: "The gateway answered 200." }
        : { message: "So not.", hint: "Do that." };
    await expect(askPlugin({ target }, { plugin: "one", path: "/a" })).rejects.toMatchObject({
      code,
      ...words,
    });
  }
});

it("tells which plugin a gateway lacks, and follows nobody elsewhere with the key", async () => {
  const { url } = await setupGateway({});
  const question = { plugin: "access", path: "/explain" };
  await expect(askPlugin({ target: url }, question)).rejects.toMatchObject({ code: "not_found" });
  const silent = await startProgram({ status: 404 });
  await expect(askPlugin(silent, question)).rejects.toMatchObject({
    hint: "The gateway needs the plugin access.",
  });
  const other = await startProgram({ status: 200, body: "{}" });
  const moved = await startProgram({ status: 307, location: other.target });
  await expect(askPlugin({ ...moved, apiKey: "a-key" }, question)).rejects.toThrow(
    /cannot be reached/,
  );
  expect(other.requests).toEqual([]);
});

it("hands lines on as they come", async () => {
  const { target } = await startProgram({ status: 200, body: "one\ntwo\n" });
  const pieces: Uint8Array[] = [];
  await askPluginLines({ target }, { plugin: "one", path: "/a" }, (piece) => pieces.push(piece));
  expect(Buffer.concat(pieces).toString()).toBe("one\ntwo\n");
  const refused = await startProgram({ status: 403, body: "no JSON" });
  await expect(
    askPluginLines(refused, { plugin: "one", path: "/a" }, () => {}),
  ).rejects.toMatchObject({ code: "forbidden" });
});
