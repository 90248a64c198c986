import { Answer, RefreshedServer, type Call, type Catalogue, type PluginContext } from "propylon";
import { HttpClient, networkFault, sizeFault } from "propylon/kit";
import { makeApi, type Api } from "./api.ts";
import { readDocument } from "./document.ts";
import { sendRequest } from "./http.ts";
import type { ApiOptions } from "./options.ts";
import { makeRequest } from "./request.ts";
import { replyToAnswer } from "./result.ts";
import { WrongArgument } from "./body.ts";
import type { ApiTool } from "./tool.ts";

/** Connections to one API. */
const MAX_CONNECTIONS = 128;

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
export class ApiServer extends RefreshedServer<Api> {
  readonly #settings: ApiServerOptions;
  readonly #http: HttpClient;

  constructor(settings: ApiServerOptions) {
    const { name, log, catalogue, options } = settings;
    const { refreshInterval: refresh, connectTimeout, maxResult } = options;
    const subject = "the OpenAPI document";
    super({
      name,
      transport: "openapi",
      log,
      subject,
      catalogue,
      refresh,
      timeout: connectTimeout,
    });
    this.#settings = settings;
    this.#http = new HttpClient({
      connectTimeout,
      maxResult,
      connections: MAX_CONNECTIONS,
      network: (error) => networkFault(name, error),
      tooLarge: (limit) => sizeFault(name, limit),
    });
  }

  protected async call(call: Call, tool: ApiTool, { base }: Api): Promise<Answer> {
    try {
      const request = makeRequest(tool, call.args ?? {}, base, this.#settings.options.headers);
      const reply = await sendRequest(this.#http, request, call.signal);
      return replyToAnswer(reply, tool.tool.outputSchema !== undefined);
    } catch (error) {
      if (error instanceof WrongArgument) return Answer.failed(error.message, "invalid");
      throw error;
    }
  }

  protected override dispose(): Promise<void> {
    return this.#http.destroy();
  }

  protected async read(signal: AbortSignal, before: Api | undefined): Promise<Api> {
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
