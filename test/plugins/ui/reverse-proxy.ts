import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A way to a gateway. */
export interface ReverseProxy {
  readonly url: string;
  /** Ends every connection, as a proxy does that is restarted. */
  readonly cut: () => void;
}

/** A reverse proxy that has the gateway below a path, as nginx does. */
export async function startProxy(target: string, prefix = ""): Promise<ReverseProxy> {
  const server = createServer((req, res) => {
    if (!req.url?.startsWith(prefix)) return void res.writeHead(404).end();
    const path = req.url.slice(prefix.length);
    const to = request(`${target}${path}`, {
      method: req.method,
      headers: {
        ...req.headers,
        host: new URL(target).host,
        ...(req.headers.origin !== undefined && { origin: target }),
      },
    });
    to.on("response", (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    to.on("error", () => res.destroy());
    res.on("close", () => to.destroy());
    req.pipe(to);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}${prefix}`, cut: () => server.closeAllConnections() };
}
