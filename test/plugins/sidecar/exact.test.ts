import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import sidecar from "../../../plugins/sidecar/index.ts";
import { until } from "../../kit/until.ts";
import { CARD, sendJson, startBus } from "./kit.ts";

const NUMBERS = ["9007199254740993", "18446744073709551615", "1e400", "0.10000000000000000555"];

/** A runtime that answers with the data that it gets, byte by byte. */
async function startEcho(): Promise<string> {
  const server = createServer((req, res) => {
    if (req.url === "/health") return sendJson(res, { status: "ok" });
    if (req.url !== "/") return sendJson(res, CARD);
    void text(req).then((body) => {
      const data = /"data":(\{.*?\})/.exec(body)?.[1];
      const id = /"taskId":"([^"]+)"/.exec(body)?.[1];
      sendJson(
        res,
        `{"id":"${id}","status":{"state":"completed"},"artifacts":[{"parts":[{"data":${data}}]}]}`,
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it.each(["NATS", "HTTP alone"])(
  "line 9: by %s the data of a task and of its result keep every digit",
  async (way) => {
    const runtime = { url: await startEcho() };
    const bus = way === "NATS" ? { nats: { url: (await startBus()).server.url } } : {};
    const { url } = await setupGateway({
      plugins: [[sidecar, { name: "coder", runtime, ...bus }]],
      client: false,
    });
    // The queue is taken part in a moment after the gateway listens.
    await until(async () => (await fetch(`${url}/readyz`)).ok);
    for (const [at, number] of NUMBERS.entries()) {
      const data = `{"n":${number},"list":[${number}]}`;
      const message = `{"messageId":"m${at}","taskId":"t${at}","role":"user","parts":[{"data":${data}}]}`;
      const begun = await fetch(`${url}/sidecar/tasks`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: `{"message":${message}}`,
      });
      expect(begun.status).toBe(202);
      const result = await fetch(`${url}/sidecar/tasks/t${at}?wait=20s`);
      expect(await result.text()).toContain(data);
    }
  },
);
