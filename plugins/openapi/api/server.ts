import { setTimeout as delay } from "node:timers/promises";
import {
  Answer,
  EMPTY_CATALOGUE,
  GatewayError,
  MAX_DELAY_MS,
  toGatewayError,
  type Call,
  type Catalogue,
  type ManagedProvider,
  type PluginContext,
  type ProviderEvent,
  type ProviderStatus,
} from "propylon";
import { makeApi, type Api } from "./api.ts";
import { readDocument } from "./document.ts";
import { Exchange } from "./exchange.ts";
import type { ApiOptions } from "./options.ts";
import { makeRequest } from "./request.ts";
import { failed, toAnswer } from "./result.ts";
import { WrongArgument } from "./wrong-argument.ts";

/** First and longest wait before a document that could not be reached is read again, in milliseconds. */
const RETRY_MS = { first: 2_000, longest: 60_000 };
/** What an {@link ApiServer} is made of. */
export interface ApiServerOptions {
  readonly name: string;
  readonly options: ApiOptions;
  /** Where the document is. */
  readonly location: URL;
  readonly log: PluginContext["log"];
  /** Lists to show until the document was read. */
  readonly catalogue: Catalogue | undefined;
}

/** An HTTP API as a server: every operation of its OpenAPI document is a tool. */
export class ApiServer implements ManagedProvider {
  readonly name: string;
  readonly #settings: ApiServerOptions;
  readonly #listeners = new Set<(event: ProviderEvent) => void>();
  readonly #stop = new AbortController();
  #catalogue: Catalogue;
  #status: ProviderStatus = statusOf("idle", 0);
  #api: Api | undefined;
  #exchange: Exchange | undefined;
  #reading: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #inFlight = 0;
  #idle: (() => void)[] = [];

  constructor(settings: ApiServerOptions) {
    this.name = settings.name;
    this.#settings = settings;
    this.#catalogue = settings.catalogue ?? EMPTY_CATALOGUE;
  }

  get catalogue(): Catalogue {
    return this.#catalogue;
  }

  get status(): ProviderStatus {
    return this.#status;
  }

  start(): void {
    this.#become("connecting", 0, "the OpenAPI document is being read");
    void this.#read();
  }

  /** Reads the document again. */
  async reconnect(): Promise<void> {
    await this.#read();
  }

  async request(call: Call): Promise<Answer> {
    if (call.method !== "tools/call")
      return Answer.error({ code: -32601, message: "An API has tools only." });
    this.#inFlight++;
    try {
      return await this.#call(call);
    } finally {
      if (--this.#inFlight === 0) for (const wake of this.#idle.splice(0)) wake();
    }
  }

  async close(graceMs: number): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#inFlight > 0) {
      const idle = new Promise<void>((resolve) => this.#idle.push(resolve));
      await Promise.race([idle, delay(Math.min(graceMs, MAX_DELAY_MS), undefined, { ref: false })]);
    }
    this.#stop.abort();
    await this.#reading;
    await this.#exchange?.destroy();
    if (this.#status.state !== "closed") this.#become("closed", 0, "it was closed");
  }

  on(listener: (event: ProviderEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async #call(call: Call): Promise<Answer> {
    // A call that comes before the document waits for it, as it would for a server that is being dialled.
    if (!this.#api) await this.#reading;
    const [api, exchange] = [this.#api, this.#exchange];
    if (!api || !exchange)
      throw new GatewayError(
        "upstream_error",
        `Server "${this.name}" cannot be used: ${this.#status.reason ?? "it was closed"}`,
        { data: { server: this.name, state: this.#status.state } },
      );
    const tool = api.tools.get(call.name);
    if (!tool) return Answer.error({ code: -32602, message: `Unknown tool: ${call.name}` });
    try {
      const { headers } = this.#settings.options;
      const request = makeRequest(tool, call.args ?? {}, api.base, headers);
      const reply = await exchange.send(request, call.signal);
      return toAnswer(reply, tool.tool.outputSchema !== undefined);
    } catch (error) {
      if (error instanceof WrongArgument) return failed(error.message);
      throw error;
    }
  }

  /** One reading at a time; who asks meanwhile gets that one. */
  #read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    clearTimeout(this.#timer);
    const { location, options } = this.#settings;
    const attempt = this.#status.attempts + 1;
    try {
      const document = await readDocument(location, {
        headers: this.#headersForDocument(),
        limit: options.maxResult,
        signal: AbortSignal.any([this.#stop.signal, AbortSignal.timeout(options.connectTimeout)]),
      });
      // The same bytes make the same tools: nothing is built, nobody is told (M106).
      if (document.hash !== this.#api?.hash) await this.#use(makeApi(document, location, options));
      if (this.#stop.signal.aborted) return;
      if (this.#status.state !== "ready") this.#become("ready", 0);
      this.#again(options.refresh);
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#onFailure(toGatewayError(error), attempt);
    }
  }

  /** The operator's headers are meant for the API: a document on another host does not get them. */
  #headersForDocument(): Readonly<Record<string, string>> {
    const { location, options } = this.#settings;
    const isElsewhere =
      options.baseUrl !== undefined && new URL(options.baseUrl).origin !== location.origin;
    return isElsewhere ? {} : options.headers;
  }

  async #use(api: Api): Promise<void> {
    const { options, log } = this.#settings;
    const { connectTimeout, maxResult } = options;
    const { origin } = api.base;
    const old = this.#exchange;
    if (old?.origin !== origin) {
      this.#exchange = await Exchange.open({
        server: this.name,
        origin,
        connectTimeout,
        maxResult,
      });
      void old?.close();
    }
    if (api.elsewhere.length > 0)
      log.warn(
        { server: this.name, operations: api.elsewhere },
        "operations at another host are not offered; set baseUrl to offer them",
      );
    const before = this.#catalogue.hash;
    this.#api = api;
    this.#catalogue = api.catalogue;
    if (before !== api.catalogue.hash) this.#emit({ type: "changed", lists: ["tools"] });
  }

  /** What cannot be reached is tried again soon; what is wrong in itself when the document is next read anyway. */
  #onFailure(error: GatewayError, attempt: number): void {
    const { options, log } = this.#settings;
    const isNetwork = error.code === "upstream_error";
    if (error.code === "internal")
      log.error({ err: error.cause, server: this.name }, "the OpenAPI document could not be used");
    const wait = isNetwork
      ? Math.min(RETRY_MS.first * 2 ** (attempt - 1), RETRY_MS.longest)
      : options.refresh;
    const reason =
      error.code === "internal" ? "The OpenAPI document cannot be understood." : error.message;
    const state = this.#api ? "degraded" : isNetwork ? "backoff" : "failed";
    this.#become(state, attempt, [reason, error.hint].filter(Boolean).join(" "), wait);
    this.#again(wait);
  }

  #again(ms: number): void {
    clearTimeout(this.#timer);
    if (ms > 0 && !this.#stop.signal.aborted)
      this.#timer = setTimeout(() => void this.#read(), Math.min(ms, MAX_DELAY_MS)).unref();
  }

  #become(state: ProviderStatus["state"], attempts: number, reason?: string, wait = 0): void {
    const nextRetryAt = wait > 0 ? new Date(Date.now() + wait).toISOString() : undefined;
    this.#status = statusOf(state, attempts, reason, nextRetryAt);
    const isTrouble = state === "failed" || state === "backoff" || state === "degraded";
    this.#settings.log[isTrouble ? "warn" : "info"](
      { server: this.name, state, reason, nextRetryAt },
      `server is ${state}`,
    );
    this.#emit({ type: "state", status: this.#status });
  }

  #emit(event: ProviderEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

function statusOf(
  state: ProviderStatus["state"],
  attempts: number,
  reason?: string,
  nextRetryAt?: string,
): ProviderStatus {
  return {
    state,
    since: new Date().toISOString(),
    attempts,
    transport: "openapi",
    ...(reason !== undefined && { reason }),
    ...(attempts > 0 && reason !== undefined && { lastError: reason }),
    ...(nextRetryAt !== undefined && { nextRetryAt }),
  };
}
