import { once, EventEmitter } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";

/** An OpenTelemetry collector that keeps what was exported, to find a trace in it. */
export interface Collector {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  /** Tells `export` whenever something came. */
  readonly events: EventEmitter;
  /** Whether a span of this trace was exported. */
  saw(traceId: string): boolean;
  close(): void;
}

/** Starts a collector for OTLP over HTTP, protobuf or JSON, on a free port of this machine. */
export async function startCollector(): Promise<Collector> {
  const bodies: Buffer[] = [];
  const events = new EventEmitter();
  const server = createServer((req, res) => {
    readExport(req).then(
      (body) => {
        if (req.url?.endsWith("/v1/traces")) bodies.push(body);
        // An empty answer is a complete one in both encodings (OTLP 1.x, "Full Success").
        res.writeHead(200, { "content-type": req.headers["content-type"] ?? "application/json" });
        res.end(req.headers["content-type"] === "application/json" ? "{}" : "");
        events.emit("export");
      },
      () => res.writeHead(400).end(),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    events,
    saw: (traceId) => bodies.some((body) => hasTrace(body, traceId)),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function readExport(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  return req.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
}

/** A trace id is 16 bytes in protobuf and hex in JSON; it is random, so that finding it is not an accident. */
function hasTrace(body: Buffer, traceId: string): boolean {
  return body.includes(Buffer.from(traceId, "hex")) || body.includes(traceId);
}
