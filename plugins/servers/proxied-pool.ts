import { Turns } from "propylon/kit";
import type { Dispatcher } from "undici";
import type { HttpPoolOptions, HttpRequest, Pool, ResponseReader } from "./http-pool.ts";

/**
 * HTTP to one origin by way of a proxy, on undici, which knows CONNECT, proxies with a password and NO_PROXY. Only servers that ask for
 * a proxy are reached so: our own client costs less (0059).
 */
export class ProxiedPool implements Pool {
  readonly #origin: string;
  /** Loaded when a server asks for it: a start of the gateway need not wait for undici. */
  readonly #agent: Promise<Dispatcher>;

  /** @param proxy its URL, or `environment` for HTTP_PROXY, HTTPS_PROXY and NO_PROXY */
  constructor(url: URL, proxy: string, { timeout, secureContext }: HttpPoolOptions) {
    this.#origin = url.origin;
    const tls = secureContext && { secureContext };
    const options = {
      // Calls end by their own deadlines, and an event stream may be silent for hours.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout, ...tls },
      requestTls: { timeout, ...tls },
      proxyTls: { timeout },
      // Many proxies tunnel to port 443 alone.
      proxyTunnel: url.protocol === "https:",
    };
    this.#agent = import("undici").then(({ EnvHttpProxyAgent, ProxyAgent }) =>
      proxy === "environment"
        ? new EnvHttpProxyAgent(options)
        : new ProxyAgent({ ...options, uri: proxy }),
    );
  }

  dispatch({ path, method, headers, body }: HttpRequest, reader: ResponseReader): void {
    const request = { origin: this.#origin, path, method, headers: [...headers], body };
    this.#agent
      .then((agent) => agent.dispatch(request, new ReaderHandler(reader)))
      .catch((error: Error) => reader.onResponseError(error));
  }

  async destroy(): Promise<void> {
    await (await this.#agent).destroy();
  }
}

/** Tells a reader in the words of our own client what undici found. */
class ReaderHandler implements Dispatcher.DispatchHandler {
  readonly #reader: ResponseReader;
  #turns!: Turns;

  constructor(reader: ResponseReader) {
    this.#reader = reader;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const turns = new Turns(controller);
    this.#turns = turns;
    this.#reader.onRequestStart?.({
      // undici does not tell.
      isReused: false,
      pause: () => turns.pause(),
      resume: () => turns.resume(),
      abort: (error = new Error("not wanted any more")) => controller.abort(error),
    });
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status >= 200) this.#reader.onResponseStart?.(status, pairsOf(headers));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const began = performance.now();
    this.#reader.onResponseData?.(chunk);
    this.#turns.spend(began);
  }

  onResponseEnd(): void {
    this.#reader.onResponseEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#reader.onResponseError(error);
  }
}

function pairsOf(headers: Readonly<Record<string, string | string[] | undefined>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().flatMap((each) => [name, each]),
  );
}
