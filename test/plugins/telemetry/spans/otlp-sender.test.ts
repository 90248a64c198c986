import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { diag, DiagLogLevel } from "@opentelemetry/api";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  OtlpSender,
  type SenderSettings,
} from "../../../../plugins/telemetry/spans/otlp-sender.ts";
import { PATIENCE } from "../../../fixtures/ci.ts";

type Answer = (res: ServerResponse, count: number) => void;

/** A sender, and the collector that it sends to. */
async function setup(answer: Answer, settings: Partial<SenderSettings> = {}) {
  const requests: { readonly headers: IncomingMessage["headers"]; readonly body: Buffer }[] = [];
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      requests.push({ headers: req.headers, body: Buffer.concat(chunks) });
      answer(res, requests.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`;
  const whole = {
    url,
    headers: { "x-tenant": "7" },
    timeout: 20_000 * PATIENCE,
    isCompressed: false,
  };
  const sender = new OtlpSender({ ...whole, ...settings });
  onTestFinished(async () => {
    await sender.destroy();
    server.closeAllConnections();
    server.close();
  });
  return { sender, requests, url };
}

const ok: Answer = (res) => void res.end("{}");

describe("an export", () => {
  it("has the headers that are set, and is compressed where that is", async () => {
    const plain = await setup(ok);
    expect(await plain.sender.send('{"é":1}')).toBeUndefined();
    expect(plain.requests[0]!.body.toString()).toBe('{"é":1}');
    expect(plain.requests[0]!.headers).toMatchObject({
      "x-tenant": "7",
      "content-type": "application/json",
      "user-agent": expect.stringMatching(/^propylon\//) as string,
    });
    const small = await setup(ok, { isCompressed: true });
    expect(await small.sender.send('{"é":1}')).toBeUndefined();
    expect(small.requests[0]!.headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(small.requests[0]!.body).toString()).toBe('{"é":1}');
  });

  it.each([429, 502, 503, 504])("is sent once more after %d", async (status) => {
    const { sender, requests } = await setup((res, count) => {
      res.writeHead(count === 1 ? status : 200, { "retry-after": "0" }).end();
    });
    expect(await sender.send("{}")).toBeUndefined();
    expect(requests).toHaveLength(2);
  });

  it.each([400, 404, 500, 302])("is lost after %d, and follows no redirect", async (status) => {
    const { sender, requests } = await setup((res) => {
      res.writeHead(status, { location: "/elsewhere" }).end("garbage");
    });
    expect(await sender.send("{}")).toBe(`the collector answers ${status}`);
    expect(requests).toHaveLength(1);
  });

  it.each(["315360000", "Fri, 31 Dec 2100 23:59:59 GMT"])(
    "is lost at once where it should wait longer than it may: %s",
    async (after) => {
      const { sender, requests } = await setup((res) => {
        res.writeHead(503, { "retry-after": after }).end();
      });
      expect(await sender.send("{}")).toBe("the collector answers 503");
      expect(requests).toHaveLength(1);
    },
  );

  it("is lost where the collector says nothing, in its time", async () => {
    const { sender } = await setup(() => {}, { timeout: 50 });
    expect(await sender.send("{}")).toBe("it took too long");
  });

  it("is lost where nobody listens", async () => {
    const { sender } = await setup(ok, { url: "http://127.0.0.1:9/v1/traces", timeout: 50 });
    expect(await sender.send("{}")).toMatch(/refused|too long/);
  });

  it("is done where the answer never ends: what is read of it is bounded", async () => {
    let written = 0;
    const { sender } = await setup((res) => {
      const chunk = Buffer.alloc(65_536, " ");
      const write = (): void => {
        while (!res.destroyed && written < 2 ** 30 && res.write(chunk)) written += chunk.length;
        if (!res.destroyed) res.once("drain", write);
      };
      write();
    });
    expect(await sender.send("{}")).toBeUndefined();
    expect(written).toBeLessThan(64 * 1_024 * 1_024);
  });

  it.each(['{"partialSuccess":{"rejectedSpans":"3"}}', '{"partialSuccess":{', "[[[[[[[[[[[[["])(
    "is done whatever the answer says: %s",
    async (said) => {
      const told: string[] = [];
      const tell = (message: string): void => void told.push(message);
      const quiet = { info() {}, debug() {}, verbose() {} };
      diag.setLogger({ error: tell, warn: tell, ...quiet }, DiagLogLevel.WARN);
      onTestFinished(() => diag.disable());
      const { sender } = await setup((res) => void res.end(said));
      expect(await sender.send("{}")).toBeUndefined();
      expect(told).toHaveLength(said.includes("rejectedSpans") ? 1 : 0);
    },
  );

  it("ends with the gateway", async () => {
    const { sender } = await setup(() => void sender.destroy());
    expect(await sender.send("{}")).toBe("the gateway ends");
  });
});
