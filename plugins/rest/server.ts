import {
  Answer,
  Refresher,
  StatusTracker,
  type Call,
  type Catalogue,
  type ManagedServer,
  type PluginContext,
  type ServerEvent,
  type ServerStatus,
} from "propylon";
import { makeApi, type Api } from "./api.ts";
import { readDocument } from "./document.ts";
import { ApiHttp } from "./http.ts";
import type { ApiOptions } from "./options.ts";
import { makeRequest } from "./request.ts";
import { replyToAnswer } from "./result.ts";
import { WrongArgument } from "./body.ts";

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
export class ApiServer implements ManagedServer {
  readonly name: string;
  readonly #settings: ApiServerOptions;
  readonly #http: ApiHttp;
  readonly #tracker: StatusTracker;
  readonly #refresher: Refresher<Api>;

  constructor(settings: ApiServerOptions) {
    const { name, log, catalogue, options } = settings;
    const { refreshInterval, connectTimeout, maxResult } = options;
    this.name = name;
    this.#settings = settings;
    this.#http = new ApiHttp({ server: name, connectTimeout, maxResult });
    this.#tracker = new StatusTracker({ server: name, transport: "openapi", log });
    this.#refresher = new Refresher({
      tracker: this.#tracker,
      subject: "the OpenAPI document",
      catalogue,
      refresh: refreshInterval,
      timeout: connectTimeout,
      read: (signal, before) => this.#read(signal, before),
    });
  }

  get catalogue(): Catalogue {
    return this.#refresher.catalogue;
  }

  get status(): ServerStatus {
    return this.#tracker.status;
  }

  start(): void {
    this.#refresher.start();
  }

  /** Reads the document again. */
  async reconnect(): Promise<void> {
    await this.#refresher.refresh();
  }

  async request(call: Call): Promise<Answer> {
    if (call.method !== "tools/call")
      return Answer.error({ code: -32601, message: "An API has tools only." });
    return this.#refresher.use((api) => this.#call(call, api));
  }

  async close(graceMs: number): Promise<void> {
    await this.#refresher.close(graceMs);
    await this.#http.destroy();
    this.#tracker.set("closed", { reason: "it was closed" });
  }

  on(listener: (event: ServerEvent) => void): () => void {
    return this.#tracker.on(listener);
  }

  async #call(call: Call, { base, tools }: Api): Promise<Answer> {
    const tool = tools.get(call.name);
    if (!tool) return Answer.error({ code: -32602, message: `Unknown tool: ${call.name}` });
    try {
      const request = makeRequest(tool, call.args ?? {}, base, this.#settings.options.headers);
      const reply = await this.#http.send(request, call.signal);
      return replyToAnswer(reply, tool.tool.outputSchema !== undefined);
    } catch (error) {
      if (error instanceof WrongArgument) return Answer.failed(error.message, "invalid");
      throw error;
    }
  }

  async #read(signal: AbortSignal, before: Api | undefined): Promise<Api> {
    const { location, options, log } = this.#settings;
    const headers = this.#headersForDocument();
    const document = await readDocument(location, { headers, limit: options.maxResult, signal });
    // The same bytes make the same tools: nothing is built.
    if (document.hash === before?.hash) return before;
    const api = makeApi(document, location, options);
    await this.#http.open();
    if (api.elsewhere.length > 0)
      log.warn(
        { server: this.name, operations: api.elsewhere },
        "operations at another host are not offered; set baseUrl to offer them",
      );
    return api;
  }

  /** The operator's headers are meant for the API: a document on another host does not get them. */
  #headersForDocument(): Readonly<Record<string, string>> {
    const { location, options } = this.#settings;
    const isElsewhere =
      options.baseUrl !== undefined && new URL(options.baseUrl).origin !== location.origin;
    return isElsewhere ? {} : options.headers;
  }
}
