import { toGatewayError, type Json } from "propylon";
import { ExactNumber } from "propylon/kit";
import { isInteger, type RpcId } from "propylon/internal";
import { jsonReply, type PostReply, type ReplyHead } from "../post.ts";
import { restStatusOf, toStandardError } from "./errors.ts";
import { StandardRequestHandler, type HandlerDependencies } from "./handler.ts";
import type { Sdk } from "./sdk.ts";
import { frameOf, streamFrames } from "./sse.ts";
import { checkVersion, type StandardCallContext } from "./call-context.ts";

/**
 * Answers a JSON-RPC request of A2A 1.0 (section 9). Errors are answers with status 200, as JSON-RPC has it, except for 429 and 503; a stream that fails
 * before its first event is answered with one too.
 */
export async function answerRpc(
  context: StandardCallContext,
  body: unknown,
  dependencies: HandlerDependencies,
): Promise<PostReply> {
  const { sdk } = context;
  const misfit = faultOf(sdk, body);
  if (misfit) return reply(idOf(body), misfit);
  const request = body as Json;
  const id = idOf(body);
  try {
    checkVersion(context, "JSONRPC");
    checkParameters(sdk, request);
    const operations = new StandardRequestHandler(context, dependencies);
    const answer = await new sdk.JsonRpcTransportHandler(operations).handle(
      id instanceof ExactNumber ? { ...request, id: 0 } : request,
      context.context,
    );
    if (!isStream(answer)) return jsonReply({ ...answer, id }, headOf(sdk, operations.fault));
    const first = await answer.next();
    return streamFrames(frames(sdk, id, first, answer), () => context.gone.abort());
  } catch (error) {
    const fault = toStandardError(sdk, error);
    return jsonReply({ jsonrpc: "2.0", id, error: sdk.toJsonRpcError(fault) }, headOf(sdk, fault));
  }
}

/** Status and headers of an answer. That there is no room now is said in HTTP too: breakers and retries look there. */
function headOf(sdk: Sdk, fault: Error | undefined): ReplyHead {
  const status = fault && restStatusOf(sdk, fault);
  if (status !== 503 && status !== 429) return { headers: NO_STORE };
  const { headers } = toGatewayError(fault?.cause);
  return { status, headers: { ...headers, ...NO_STORE } };
}

/** The answer to a request that could not be read, in the words of JSON-RPC (2.0, section 5.1) and with the status of HTTP. */
export function refuseRpc(sdk: Sdk, thrown: unknown): PostReply {
  const { status, code, data } = toGatewayError(thrown);
  const error = sdk.toJsonRpcError(toStandardError(sdk, thrown));
  if (code !== "bad_request") return reply(null, error, status);
  // The core says where the text stops being JSON; of JSON that is not an object it says nothing.
  const { PARSE_ERROR, INVALID_REQUEST } = sdk.A2A_ERROR_CODE;
  const isText = data?.["reason"] !== undefined;
  return reply(null, { ...error, code: isText ? PARSE_ERROR : INVALID_REQUEST }, status);
}

const NO_STORE = { "cache-control": "no-store" };

function reply(id: RpcId | null, error: object, status = 200): PostReply {
  return jsonReply({ jsonrpc: "2.0", id, error }, { status, headers: NO_STORE });
}

/** JSON-RPC 2.0, section 4; the SDK would call each of these wrong parameters. */
function faultOf(sdk: Sdk, body: unknown): { code: number; message: string } | undefined {
  const invalid = (message: string) => ({ code: sdk.A2A_ERROR_CODE.INVALID_REQUEST, message });
  if (typeof body !== "object" || body === null || Array.isArray(body))
    return invalid("The request must be one JSON-RPC object.");
  const { jsonrpc, method, id } = body as Json;
  if (jsonrpc !== "2.0") return invalid('jsonrpc must be "2.0".');
  if (typeof method !== "string" || method === "") return invalid("method must be a name.");
  if (id !== undefined && id !== null && typeof id !== "string" && !isInteger(id))
    return invalid("id must be a string, a whole number or null.");
  return undefined;
}

function idOf(body: unknown): RpcId | null {
  const { id } = (typeof body === "object" && body !== null ? body : {}) as Json;
  return typeof id === "string" || isInteger(id) ? id : null;
}

/** Whether a request is answered with a stream, unless it is wrong. */
export function asksForStream({ method }: Json): boolean {
  return method === "SendStreamingMessage" || method === "SubscribeToTask";
}

/** Methods whose parameters hold more than plain values. */
const REQUESTS = {
  SendMessage: "SendMessageRequest",
  SendStreamingMessage: "SendMessageRequest",
  CreateTaskPushNotificationConfig: "TaskPushNotificationConfig",
  ListTasks: "ListTasksRequest",
  GetTask: "GetTaskRequest",
  CancelTask: "CancelTaskRequest",
  SubscribeToTask: "SubscribeToTaskRequest",
  GetTaskPushNotificationConfig: "GetTaskPushNotificationConfigRequest",
  ListTaskPushNotificationConfigs: "ListTaskPushNotificationConfigsRequest",
  DeleteTaskPushNotificationConfig: "DeleteTaskPushNotificationConfigRequest",
} as const;

/**
 * The SDK's codecs trip over values of the wrong shape, and the SDK would call that an internal error in the engine's own words.
 * @throws {A2AError} `RequestMalformedError`
 */
function checkParameters(sdk: Sdk, { method, params }: Json): void {
  if (!Object.hasOwn(REQUESTS, method as string)) return;
  if (typeof params !== "object" || params === null || Array.isArray(params))
    throw new sdk.RequestMalformedError("params must be an object.");
  const codec: Codec<unknown> = sdk[REQUESTS[method as keyof typeof REQUESTS]];
  decode(sdk, codec, params);
}

/** A codec of the SDK. */
interface Codec<T> {
  fromJSON(value: unknown): T;
}

/** @throws {A2AError} `RequestMalformedError` for a value that the codec cannot read */
export function decode<T>(sdk: Sdk, codec: Codec<T>, value: unknown): T {
  try {
    return codec.fromJSON(value);
  } catch {
    throw new sdk.RequestMalformedError("The request has values of the wrong type.");
  }
}

function isStream(answer: object): answer is AsyncGenerator<Json, void, undefined> {
  return Symbol.asyncIterator in answer;
}

/** What a stream throws after its first event is its last one: the client knows the id, and so whom it concerns. */
async function* frames(
  sdk: Sdk,
  id: RpcId | null,
  first: IteratorResult<Json, void>,
  rest: AsyncGenerator<Json, void, undefined>,
): AsyncGenerator<string, undefined> {
  try {
    if (first.done !== true) yield frameOf({ ...first.value, id });
    for await (const event of rest) yield frameOf({ ...event, id });
  } catch (thrown) {
    const error = sdk.toJsonRpcError(toStandardError(sdk, thrown));
    yield frameOf({ jsonrpc: "2.0", id, error });
  }
}
