/**
 * The floor for a gateway: node:http in, undici `dispatch` on a pool out, bytes through in both directions with backpressure.
 * Serves as raw proxy, byte pass-through for large results and raw SSE relay. Uses undici's older handler names: the newer
 * ones wrap these and parse every header.
 */
import http from "node:http";
import { Pool } from "undici";
import "./turns.mjs";

const { upstream } = JSON.parse(process.argv[2]);
const pool = new Pool(upstream, { connections: 256, pipelining: 1 });

const server = http.createServer((req, res) => {
  const chunks = [];
  req.on("data", (chunk) => chunks.push(chunk));
  req.on("end", () => forward(req, res, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
});

function forward(req, res, body) {
  const headers = ["content-type", "application/json", "accept", req.headers.accept];
  pool.dispatch(
    { path: req.url, method: req.method, headers, body },
    {
      onConnect() {},
      onHeaders(status, received, resume) {
        res.writeHead(status, entityHeaders(received));
        res.on("drain", resume);
        return true;
      },
      onData: (chunk) => res.write(chunk),
      onComplete: () => res.end(),
      onError() {
        if (res.headersSent) res.destroy();
        else res.writeHead(502).end();
      },
    },
  );
}

function entityHeaders(received) {
  const passed = {};
  for (let index = 0; index < received.length; index += 2) {
    const name = received[index].toString("latin1");
    if (name === "content-type" || name === "content-length")
      passed[name] = received[index + 1].toString("latin1");
  }
  return passed;
}

server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
