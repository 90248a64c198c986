import { Answer, type Call, type Catalogue, type PluginContext } from "propylon";
import { HttpClient, networkFault, sizeFault, RefreshedServer } from "propylon/kit";
import { type LeftOut, LeftOutLog } from "propylon/internal";
import { sendRequest } from "./http.ts";
import type { ApiOptions } from "./options.ts";
import { makeRequest } from "./request.ts";
import { replyToAnswer } from "./result.ts";
import { WrongArgument } from "./encode.ts";
import { readApi, type Api } from "./reader.ts";
import type { ApiTool } from "./reading/tool.ts";
import { Texts } from "./texts.ts";

/** Connections to one API. */
const MAX_CONNECTIONS = 128;
/** Tools that one line of the log names. */
const MAX_NAMED = 20;

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
  readonly hasUsableLists = true;
  readonly #settings: ApiServerOptions;
  readonly #http: HttpClient;
  readonly #leftOut: LeftOutLog;

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
    this.#leftOut = new LeftOutLog(name, log);
    this.#http = new HttpClient({
      connectTimeout,
      maxResult,
      connections: MAX_CONNECTIONS,
      network: (error) => networkFault(name, error),
      tooLarge: (limit) => sizeFault(name, limit),
    });
  }

  get leftOut(): readonly LeftOut[] {
    return this.#leftOut.all;
  }

  protected async call(call: Call, tool: ApiTool, api: Api): Promise<Answer> {
    try {
      const request = makeRequest(tool, call.args ?? {}, api, this.#settings.options.headers);
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
    const { location, options } = this.#settings;
    const headers = this.#headersForDocument();
    const texts = new Texts({ headers, limit: options.maxResult, signal });
    // The same bytes make the same tools: nothing is built.
    if (before !== undefined && (await texts.areSame(before.hashes))) return before;
    const settings = {
      baseUrl: options.baseUrl,
      operations: options.operations ?? {},
      outputSchemas: options.outputSchemas,
      headers: Object.keys(options.headers).map((name) => name.toLowerCase()),
    };
    const api = await readApi(location, settings, texts, signal);
    await this.#http.open();
    this.#tell(api);
    return api;
  }

  #tell({ elsewhere, shortened, withoutOutput, leftOut, catalogue }: Api): void {
    const { log } = this.#settings;
    this.#leftOut.tell(leftOut, catalogue);
    if (elsewhere.length > 0)
      log.warn(
        { server: this.name, operations: elsewhere.slice(0, MAX_NAMED), count: elsewhere.length },
        "operations at another host are not offered; set baseUrl to offer them",
      );
    if (shortened.length > 0)
      log.warn(
        { server: this.name, tools: shortened.slice(0, MAX_NAMED), count: shortened.length },
        "input schemas are too long and are shown in part",
      );
    if (withoutOutput.length > 0)
      log.info(
        {
          server: this.name,
          operations: withoutOutput.slice(0, MAX_NAMED),
          count: withoutOutput.length,
        },
        "output schemas are too long and are left out",
      );
  }

  /** The operator's headers are meant for the API: a document on another host does not get them. */
  #headersForDocument(): Readonly<Record<string, string>> {
    const { location, options } = this.#settings;
    const isElsewhere =
      options.baseUrl !== undefined && new URL(options.baseUrl).origin !== location.origin;
    return isElsewhere ? {} : options.headers;
  }
}
