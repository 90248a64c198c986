import { once } from "node:events";
import { createServer, request, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { Certificate } from "../../fixtures/certificate.ts";

/** A way to a gateway. */
export interface ReverseProxy {
  readonly url: string;
  /** Ends every connection, as a proxy does that is restarted. */
  readonly cut: () => void;
}

/** How a proxy has a gateway. */
export interface ProxyOptions {
  /** Path below which the gateway is. */
  readonly prefix?: string;
  /** It ends TLS with it, and leaves the `Origin` as it is. */
  readonly tls?: Certificate;
  /** Whether it answers a request itself: then that does not reach the gateway. */
  readonly answers?: (...request: Parameters<RequestListener>) => boolean;
}

/** A reverse proxy in front of a gateway, as nginx is, which names the gateway in `Host`. */
export async function startProxy(
  target: string | (() => string),
  { prefix = "", tls, answers }: ProxyOptions = {},
): Promise<ReverseProxy> {
  const listener: RequestListener = (req, res) => {
    if (answers?.(req, res)) return;
    const to = typeof target === "string" ? target : target();
    if (!req.url?.startsWith(prefix)) return void res.writeHead(404).end();
    const path = req.url.slice(prefix.length);
    const sent = request(`${to}${path}`, {
      method: req.method,
      headers: {
        ...req.headers,
        host: new URL(to).host,
        ...(req.headers.origin !== undefined && !tls && { origin: to }),
      },
    });
    sent.on("response", (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    sent.on("error", () => res.destroy());
    res.on("close", () => sent.destroy());
    req.pipe(sent);
  };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const scheme = tls ? "https" : "http";
  return { url: `${scheme}://127.0.0.1:${port}${prefix}`, cut: () => server.closeAllConnections() };
}
