import type { SendMessageResult, StreamResponse, Task as SdkTask } from "@a2a-js/sdk";
import type { RequestOptions, Transport } from "@a2a-js/sdk/client";
import { isGatewayError } from "propylon";
import { type Task, messageToStandard } from "propylon/contract";
import { importOptional } from "propylon/kit";
import type { AgentInterface, RemoteCard } from "../card/card.ts";
import type {
  RemoteEvent,
  AgentClient,
  OutgoingMessage,
  RequestContext,
  RemoteTasks,
} from "./agent-client.ts";
import type { AgentHttp } from "../card/http.ts";
import { AgentRefusal } from "../card/errors.ts";
import { readEvent, toTask } from "./translation.ts";

/** An agent of A2A 1.0 or 0.3, over JSON-RPC or HTTP+JSON, through `@a2a-js/sdk`. */
export class StandardClient implements AgentClient, RemoteTasks {
  readonly streams: boolean;
  readonly tasks: RemoteTasks = this;
  readonly #sdk: ClientSdk;
  readonly #http: AgentHttp;
  readonly #transport: Transport;
  readonly #version: string;

  private constructor(sdk: ClientSdk, http: AgentHttp, transport: Transport, card: RemoteCard) {
    this.#sdk = sdk;
    this.#http = http;
    this.#transport = transport;
    this.#version = card.interface.dialect;
    this.streams = card.streams;
  }

  /** @throws {GatewayError} `invalid` when the package is not installed */
  static async open(
    card: RemoteCard,
    http: AgentHttp,
    headers: Readonly<Record<string, string>>,
  ): Promise<StandardClient> {
    const sdk = await loadClientSdk();
    const fetchImpl = http.fetcher(headers);
    const transport = await openTransport(sdk, card.interface, fetchImpl);
    return new StandardClient(sdk, http, transport, card);
  }

  async *send(outgoing: OutgoingMessage, context: RequestContext): AsyncIterable<RemoteEvent> {
    const request = this.#sdk.types.SendMessageRequest.fromJSON({
      message: messageToStandard(outgoing.message),
      // A new task is known at once, so that it can be cancelled; one that goes on is known already.
      configuration: { historyLength: 0, returnImmediately: outgoing.message.taskId === undefined },
      ...(outgoing.metadata && { metadata: outgoing.metadata }),
    });
    const options = this.#options(context);
    if (this.streams)
      return yield* this.#read(this.#transport.sendMessageStream(request, options), context);
    const sent = this.#transport.sendMessage(request, options);
    yield this.#event(await this.#settle(sent, context));
  }

  async *subscribe(id: string, context: RequestContext): AsyncIterable<RemoteEvent> {
    const request = { id, tenant: "" };
    yield* this.#read(this.#transport.resubscribeTask(request, this.#options(context)), context);
  }

  async get(id: string, context: RequestContext): Promise<Task> {
    const request = this.#sdk.types.GetTaskRequest.fromJSON({ id, historyLength: 0 });
    const found = this.#transport.getTask(request, this.#options(context));
    return this.#task(await this.#settle(found, context));
  }

  async cancel(id: string, context: RequestContext): Promise<void> {
    const request = this.#sdk.types.CancelTaskRequest.fromJSON({ id });
    await this.#settle(this.#transport.cancelTask(request, this.#options(context)), context);
  }

  #options({ signal, headers }: RequestContext): RequestOptions {
    return { signal, serviceParameters: { ...headers, "A2A-Version": this.#version } };
  }

  async *#read(
    events: AsyncIterable<StreamResponse>,
    context: RequestContext,
  ): AsyncIterable<RemoteEvent> {
    try {
      for await (const event of events) {
        const read = readEvent(this.#sdk.types.StreamResponse.toJSON(event));
        if (read) yield read;
      }
    } catch (error) {
      throw this.#explain(error, context);
    }
  }

  #event(result: SendMessageResult): RemoteEvent {
    const { Message, Task: SdkTasks } = this.#sdk.types;
    const read =
      "parts" in result
        ? readEvent({ message: Message.toJSON(result) })
        : readEvent({ task: SdkTasks.toJSON(result) });
    if (!read) throw this.#nonsense();
    return read;
  }

  #task(task: SdkTask): Task {
    const read = toTask(this.#sdk.types.Task.toJSON(task));
    if (!read) throw this.#nonsense();
    return read;
  }

  async #settle<T>(asked: Promise<T>, context: RequestContext): Promise<T> {
    try {
      return await asked;
    } catch (error) {
      throw this.#explain(error, context);
    }
  }

  /** An error of A2A is the agent's answer; all else never got there, or is not A2A. */
  #explain(error: unknown, { signal }: RequestContext): unknown {
    if (signal.aborted) return signal.reason;
    if (isGatewayError(error) || error instanceof AgentRefusal) return error;
    const { A2AError, JsonRpcTransportError, TaskNotFoundError } = this.#sdk.errors;
    // The SDK wraps an error that came as an event.
    const cause = error instanceof Error ? error.cause : undefined;
    for (const each of [error, cause]) {
      if (isGatewayError(each)) return each;
      if (each instanceof JsonRpcTransportError)
        return new AgentRefusal(each.errorResponse.error.message);
      if (each instanceof A2AError)
        return new AgentRefusal(each.message, each instanceof TaskNotFoundError);
    }
    if (error instanceof Error && "code" in error) return this.#http.errors.network(error);
    return this.#nonsense(error);
  }

  #nonsense(cause?: unknown): Error {
    return this.#http.errors.protocol(`does not answer as A2A ${this.#version} wants`, cause);
  }
}

async function openTransport(
  { client, former, types }: ClientSdk,
  { dialect, binding, url, tenant }: AgentInterface,
  fetchImpl: typeof fetch,
): Promise<Transport> {
  const isRpc = binding === "JSONRPC";
  if (dialect === "0.3") {
    const options = { endpoint: url.href, fetchImpl };
    return isRpc
      ? new former.LegacyJsonRpcTransport(options)
      : new former.LegacyRestTransport(options);
  }
  const Factory = isRpc ? client.JsonRpcTransportFactory : client.RestTransportFactory;
  const transport = await new Factory({ fetchImpl }).create(url.href, types.AgentCard.fromJSON({}));
  return tenant === "" ? transport : new client.TenantTransportDecorator(transport, tenant);
}

/** The parts of `@a2a-js/sdk` that speak to agents. */
interface ClientSdk {
  readonly types: typeof import("@a2a-js/sdk");
  readonly client: typeof import("@a2a-js/sdk/client");
  readonly errors: typeof import("@a2a-js/sdk/errors");
  readonly former: typeof import("@a2a-js/sdk/compat/v0_3/client");
}

/**
 * Imports the optional package at first use: most gateways have no A2A agents, and contract v1 does without.
 * @throws {GatewayError} `invalid` when it is not installed; names the command that installs it
 */
async function loadClientSdk(): Promise<ClientSdk> {
  const load = () =>
    Promise.all([
      import("@a2a-js/sdk"),
      import("@a2a-js/sdk/client"),
      import("@a2a-js/sdk/errors"),
      import("@a2a-js/sdk/compat/v0_3/client"),
    ]);
  const need = 'Agents that speak A2A need the package "@a2a-js/sdk".';
  const [types, client, errors, former] = await importOptional(load, need, ["@a2a-js/sdk"]);
  return { types, client, errors, former };
}
