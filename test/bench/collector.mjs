import { createServer } from "node:http";

/** Takes everything and keeps nothing; in this process, so that it costs the gateway only the sending. */
export async function startCollector() {
  const server = createServer((req, res) => {
    req
      .resume()
      .on("end", () => res.writeHead(200, { "content-type": "application/json" }).end("{}"));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, close };
}
