import { GatewayError, type Json, type RouteEvent, type RouteMethod } from "propylon";
import { parseJson, pathParameter } from "propylon/kit";
import { jsonReply, type PostRequest, type PostReply } from "../post.ts";
import { restStatusOf, toStandardError } from "./errors.ts";
import { StandardRequestHandler, type HandlerDependencies } from "./handler.ts";
import { decode } from "./rpc.ts";
import type { Sdk } from "./sdk.ts";
import { frameOf, streamFrames } from "./sse.ts";
import { checkVersion, type StandardCallContext } from "./call-context.ts";
import type { StreamResponse } from "@a2a-js/sdk";

/** One request of the HTTP+JSON binding. */
export interface RestRequest {
  readonly context: StandardCallContext;
  readonly handler: StandardRequestHandler;
  /** Parameters of the path, decoded. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The body; `{}` when there is none. */
  readonly body: Json;
}

/** An answer of the HTTP+JSON binding: JSON, or a stream of events. */
type RestAnswer =
  | { readonly status?: number; readonly json?: unknown }
  | AsyncGenerator<StreamResponse, void, undefined>;

/** A route of the HTTP+JSON binding, below the path of the runtime. */
export interface RestRoute {
  readonly method: RouteMethod;
  readonly path: string;
  answer(request: RestRequest): RestAnswer | Promise<RestAnswer>;
}

/** Routes of the HTTP+JSON binding (A2A 1.0, section 11.3). A colon in a path would begin a parameter, so it is escaped. */
export const REST_ROUTES: readonly RestRoute[] = [
  {
    method: "POST",
    path: "/message\\:send",
    async answer({ context: { sdk }, handler, body }) {
      const result = await handler.sendMessage(decode(sdk, sdk.SendMessageRequest, body));
      if ("messageId" in result) return { json: { message: sdk.Message.toJSON(result) } };
      return { json: { task: sdk.Task.toJSON(result) } };
    },
  },
  {
    method: "POST",
    path: "/message\\:stream",
    answer: ({ context: { sdk }, handler, body }) =>
      handler.sendMessageStream(decode(sdk, sdk.SendMessageRequest, body)),
  },
  {
    method: "GET",
    path: "/tasks",
    async answer({ context: { sdk }, handler, query }) {
      const request = decode(sdk, sdk.ListTasksRequest, listQuery(query));
      const { tasks, ...page } = await handler.listTasks(request);
      return { json: { tasks: tasks.map((task) => showListed(sdk, task, request)), ...page } };
    },
  },
  {
    method: "GET",
    path: "/tasks/:id",
    async answer({ context: { sdk }, handler, path: { id = "", verb }, query }) {
      if (verb === "subscribe") return handler.resubscribe({ id, tenant: "" });
      if (verb !== undefined) throw noVerb();
      const request = decode(sdk, sdk.GetTaskRequest, { id, ...numbers(query, "historyLength") });
      return { json: sdk.Task.toJSON(await handler.getTask(request)) };
    },
  },
  {
    method: "POST",
    path: "/tasks/:id",
    async answer({ context: { sdk }, handler, path: { id = "", verb }, body }) {
      if (verb === "subscribe") return handler.resubscribe({ id, tenant: "" });
      if (verb !== "cancel") throw noVerb();
      const request = decode(sdk, sdk.CancelTaskRequest, { ...body, id });
      return { json: sdk.Task.toJSON(await handler.cancelTask(request)) };
    },
  },
  {
    method: "POST",
    path: "/tasks/:id/pushNotificationConfigs",
    async answer({ context: { sdk }, handler, path: { id }, body }) {
      const config = decode(sdk, sdk.TaskPushNotificationConfig, { ...body, taskId: id });
      const added = await handler.createTaskPushNotificationConfig(config);
      return { status: 201, json: sdk.TaskPushNotificationConfig.toJSON(added) };
    },
  },
  {
    method: "GET",
    path: "/tasks/:id/pushNotificationConfigs",
    async answer({ context: { sdk }, handler, path: { id } }) {
      const request = decode(sdk, sdk.ListTaskPushNotificationConfigsRequest, { taskId: id });
      const list = await handler.listTaskPushNotificationConfigs(request);
      return { json: sdk.ListTaskPushNotificationConfigsResponse.toJSON(list) };
    },
  },
  {
    method: "GET",
    path: "/tasks/:id/pushNotificationConfigs/:config",
    async answer({ context: { sdk }, handler, path: { id: taskId = "", config: id = "" } }) {
      const found = await handler.getTaskPushNotificationConfig({ taskId, id, tenant: "" });
      return { json: sdk.TaskPushNotificationConfig.toJSON(found) };
    },
  },
  {
    method: "DELETE",
    path: "/tasks/:id/pushNotificationConfigs/:config",
    async answer({ handler, path: { id: taskId = "", config: id = "" } }) {
      await handler.deleteTaskPushNotificationConfig({ taskId, id, tenant: "" });
      return { status: 204 };
    },
  },
  {
    method: "GET",
    path: "/extendedAgentCard",
    async answer({ context: { sdk }, handler }) {
      return { json: sdk.AgentCard.toJSON(await handler.getAuthenticatedExtendedAgentCard()) };
    },
  },
];

/** A request of the HTTP+JSON binding as it came. */
interface RestEvent {
  readonly event: RouteEvent;
  readonly post: PostRequest;
  readonly context: StandardCallContext;
}

/** Answers one request of the HTTP+JSON binding; errors are `google.rpc.Status` (A2A 1.0, section 11.6). */
export async function answerRest(
  route: RestRoute,
  { event, post, context }: RestEvent,
  dependencies: HandlerDependencies,
): Promise<PostReply> {
  const { sdk } = context;
  try {
    const bytes = await post.read();
    checkVersion(context, "HTTP+JSON");
    const handler = new StandardRequestHandler(context, dependencies);
    const { searchParams: query } = event.url;
    const body = readBody(sdk, event, bytes);
    const answer = await route.answer({ context, handler, path: readPath(event), query, body });
    if (!(Symbol.asyncIterator in answer)) return reply(sdk, answer.json, answer.status);
    const first = await answer.next();
    return streamFrames(frames(sdk, first, answer), () => context.gone.abort());
  } catch (thrown) {
    const error = toStandardError(sdk, thrown);
    const status = restStatusOf(sdk, error);
    return reply(sdk, sdk.toRestErrorBody(error, status), status);
  }
}

function reply(sdk: Sdk, json: unknown, status = 200): PostReply {
  const headers = { "content-type": sdk.A2A_CONTENT_TYPE, "cache-control": "no-store" };
  return status === 204 ? new Response(null, { status }) : jsonReply(json, { status, headers });
}

async function* frames(
  sdk: Sdk,
  first: IteratorResult<StreamResponse, void>,
  rest: AsyncGenerator<StreamResponse, void, undefined>,
): AsyncGenerator<string, undefined> {
  try {
    if (first.done !== true) yield frameOf(sdk.StreamResponse.toJSON(first.value));
    for await (const event of rest) yield frameOf(sdk.StreamResponse.toJSON(event));
  } catch (thrown) {
    const error = toStandardError(sdk, thrown);
    yield sdk.formatSSEErrorEvent(sdk.toRestErrorBody(error, restStatusOf(sdk, error)));
  }
}

const VERB = /:(cancel|subscribe)$/;

/** The parameters of the path. A colon of an id may be written as %3A, which tells it from that before a verb. */
function readPath(event: RouteEvent): Readonly<Record<string, string>> {
  const id = pathParameter(event, "id");
  const verb = VERB.exec(new URL(event.req.url).pathname)?.[1];
  return {
    id: verb === undefined ? id : id.slice(0, -(verb.length + 1)),
    config: pathParameter(event, "config"),
    ...(verb !== undefined && { verb }),
  };
}

const JSON_TYPE = /^application\/(?:a2a\+)?json\s*(?:;|$)/i;

function readBody(sdk: Sdk, { req, context }: RouteEvent, bytes: Buffer): Json {
  if (bytes.length === 0) return {};
  const type = req.headers.get("content-type");
  if (type !== null && !JSON_TYPE.test(type.trim()))
    throw new sdk.ContentTypeNotSupportedError(
      `The body must be ${sdk.A2A_CONTENT_TYPE} or application/json.`,
    );
  const body = parseJson(bytes, context.maxDepth);
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as Json;
  throw new sdk.RequestMalformedError("The body must be one JSON object.");
}

function listQuery(query: URLSearchParams): Json {
  return {
    ...Object.fromEntries(query),
    ...numbers(query, "pageSize", "historyLength"),
    includeArtifacts: query.get("includeArtifacts") === "true",
  };
}

/** Numbers in the query; one that is empty is not there. */
function numbers(query: URLSearchParams, ...names: readonly string[]): Json {
  return Object.fromEntries(
    names.map((name) => {
      const text = query.get(name);
      return [name, text === null || text === "" ? undefined : Number(text)];
    }),
  );
}

/** The list says so when a task has no artifacts, if they were asked for (A2A 1.0, 3.1.4). */
function showListed(
  sdk: Sdk,
  task: Parameters<Sdk["Task"]["toJSON"]>[0],
  { includeArtifacts }: { readonly includeArtifacts?: boolean | undefined },
): unknown {
  const shown = sdk.Task.toJSON(task) as Json;
  return includeArtifacts ? { artifacts: [], ...shown } : shown;
}

function noVerb(): GatewayError {
  return new GatewayError("not_found", "There is no such operation of a task.", {
    hint: "Send :cancel or :subscribe behind the id.",
  });
}
