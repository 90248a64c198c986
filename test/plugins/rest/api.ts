import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { freePort } from "../../../core/testing/index.ts";

/** The document of the pets API as text. */
export const PETS = readFileSync(
  fileURLToPath(new URL("../../fixtures/api/pets.yaml", import.meta.url)),
  "utf8",
);

/** A request as the API received it. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** A real HTTP API with its document at `/openapi.yaml`. */
export interface PetApi {
  readonly origin: string;
  readonly received: Received[];
  /** The document served from now on; `undefined` answers 500. */
  document: string | undefined;
  /** How often the document was read. */
  reads: number;
  /** Ends it with all of its connections. */
  kill(): Promise<void>;
}

const PIXEL = Buffer.from("iVBORw0KGgo=", "base64");

/** Answers by the last part of `/v1/answer/{kind}`. */
const ANSWERS: Readonly<Record<string, (res: ServerResponse) => void>> = {
  object: (res) => send(res, 200, "application/json; charset=utf-8", '{"a":1}'),
  list: (res) => send(res, 200, "application/problem+json", "[1,2]"),
  text: (res) => send(res, 200, "text/plain", "hello"),
  image: (res) => send(res, 200, "image/png", PIXEL),
  audio: (res) => send(res, 200, "audio/wav", PIXEL),
  bytes: (res) => send(res, 200, "application/zip", PIXEL),
  nothing: (res) => void res.writeHead(204).end(),
  broken: (res) => send(res, 200, "application/json", "{"),
  missing: (res) => send(res, 404, "application/json", '{"detail":"no such pet"}'),
  fault: (res) => send(res, 500, "text/plain", "x".repeat(5_000)),
  large: (res) => send(res, 200, "text/plain", "x".repeat(200_000)),
  here: (res) => void res.writeHead(302, { location: "/v1/answer/text" }).end(),
  away: (res) => void res.writeHead(302, { location: "http://127.0.0.2:9/" }).end(),
  round: (res) => void res.writeHead(302, { location: "/v1/answer/round" }).end(),
  hang: () => {},
  reset: (res) => void res.socket?.destroy(),
};

function send(res: ServerResponse, status: number, type: string, body: string | Buffer): void {
  res.writeHead(status, { "content-type": type }).end(body);
}

/** Starts it; it ends with the test. */
export async function startApi(document: string = PETS): Promise<PetApi> {
  const received: Received[] = [];
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const url = req.url!;
      if (url === "/openapi.yaml") {
        api.reads++;
        if (api.document === undefined) send(res, 500, "text/plain", "down");
        else send(res, 200, "application/yaml", api.document);
        return;
      }
      received.push({
        method: req.method!,
        url,
        headers: req.headers,
        body: Buffer.concat(chunks),
      });
      const kind = /^\/v1\/answer\/(\w+)$/.exec(url)?.[1] ?? "object";
      ANSWERS[kind]!(res);
    });
  });
  // Nobody else takes it once the API was killed.
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const api: PetApi = {
    origin: `http://127.0.0.1:${port}`,
    received,
    document,
    reads: 0,
    async kill() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  onTestFinished(() => api.kill());
  return api;
}
