import { describe, expect, it } from "vitest";
import { GatewayError } from "../../../core/index.ts";
import { restStatusOf, toStandardError } from "../../../plugins/a2a/standard/errors.ts";
import { checkRequest } from "../../../plugins/a2a/standard/request.ts";
import { openSdk } from "../../../plugins/a2a/standard/sdk.ts";
import { rpc, say, send, startTck } from "./kit.ts";

function message(rest: object = {}, prefix = "tck-complete-task"): object {
  return { messageId: say(prefix).messageId, role: "ROLE_USER", parts: [{ text: "hi" }], ...rest };
}

const FILE = { raw: "dGNr", mediaType: "application/x-unsupported-tck-type" };
const PUSH = { url: "https://example.com/hook" };
const NOWHERE = { id: "nowhere" };

const WRONG: readonly (readonly [method: string, params: unknown, code: number])[] = [
  ["GetTask", NOWHERE, -32001],
  ["CancelTask", NOWHERE, -32001],
  ["SubscribeToTask", NOWHERE, -32001],
  ["SendMessage", { message: message({ taskId: "nowhere" }) }, -32001],
  ["SendStreamingMessage", { message: message({ taskId: "nowhere" }) }, -32001],
  ["CreateTaskPushNotificationConfig", { taskId: "nowhere", ...PUSH }, -32001],
  ["ListTaskPushNotificationConfigs", { taskId: "nowhere" }, -32001],
  ["GetExtendedAgentCard", {}, -32004],
  ["SendMessage", { message: message({ parts: [FILE] }) }, -32005],
  [
    "SendMessage",
    { message: message(), configuration: { acceptedOutputModes: ["image/png"] } },
    -32005,
  ],
  ["NoSuchMethod", {}, -32601],
  ["message/send", {}, -32601],
  ["SendMessage", undefined, -32602],
  ["SendMessage", [], -32602],
  ["SendMessage", {}, -32602],
  ["SendMessage", { message: "hi" }, -32602],
  ["SendMessage", { message: message({ messageId: "" }) }, -32602],
  ["SendMessage", { message: message({ role: "system" }) }, -32602],
  ["SendMessage", { message: message({ parts: [] }) }, -32602],
  ["SendMessage", { message: message({ parts: [null] }) }, -32602],
  ["SendMessage", { message: message({ parts: [{ kind: "text" }] }) }, -32602],
  ["SendMessage", { message: message({ parts: [{ raw: 7 }] }) }, -32602],
  ["SendMessage", { message: message(), configuration: { historyLength: -1 } }, -32602],
  ["SendMessage", { message: message(), configuration: { historyLength: "x" } }, -32602],
  [
    "SendMessage",
    {
      message: message(),
      configuration: { taskPushNotificationConfig: { url: "http://127.0.0.1/" } },
    },
    -32602,
  ],
  ["GetTask", {}, -32602],
  ["GetTask", { id: { toString: 1 } }, -32602],
  ["GetTask", { id: "  " }, -32602],
  ["ListTasks", { pageSize: 0 }, -32602],
  ["ListTasks", { pageSize: 101 }, -32602],
  ["ListTasks", { pageSize: "many" }, -32602],
  ["ListTasks", { pageToken: "nonsense" }, -32602],
  ["ListTasks", { status: "completed" }, -32602],
  ["ListTasks", { statusTimestampAfter: "yesterday" }, -32602],
];

describe("errors of JSON-RPC, asked for raw", () => {
  it("has the code of the specification for everything that is wrong, and a sentence about it", async () => {
    const { url } = await startTck({ options: { push: { enabled: true } } });
    const answers = await Promise.all(
      WRONG.map(async ([method, params]) => ({ params, ...(await rpc(url, method, params)) })),
    );
    const got = answers.map(({ params, body }, row) => [WRONG[row]![0], params, body.error!.code]);
    expect(got).toEqual(WRONG);
    for (const { status, body } of answers) {
      expect({ status, ...body }).toMatchObject({ status: 200, jsonrpc: "2.0", id: 1 });
      expect(body.error!.message).toMatch(/^\S.*[.]$/s);
      expect(body.error!.message).not.toMatch(/Cannot|undefined|\bat \//);
    }
  });

  it("-32002 and -32004: a task that has ended is neither cancelled nor subscribed to, and takes no message", async () => {
    const { url } = await startTck();
    const { id, contextId } = (await rpc(url, "SendMessage", { message: message() })).body.result!
      .task;
    const code = async (method: string, params: object) =>
      (await rpc(url, method, params)).body.error!.code;
    expect(await code("CancelTask", { id })).toBe(-32002);
    expect(await code("SubscribeToTask", { id })).toBe(-32004);
    expect(await code("SendMessage", { message: message({ taskId: id }) })).toBe(-32004);
    expect(
      await code("SendMessage", { message: message({ taskId: id, contextId: `${contextId}x` }) }),
    ).toBe(-32602);
  });

  it("-32003: without push notifications none of their operations is there, nor the setting of a message", async () => {
    const { url } = await startTck();
    const { id } = (await rpc(url, "SendMessage", { message: message() })).body.result!.task;
    const asked: [string, object][] = [
      ["CreateTaskPushNotificationConfig", { taskId: id, ...PUSH }],
      ["GetTaskPushNotificationConfig", { taskId: id, id: "a" }],
      ["ListTaskPushNotificationConfigs", { taskId: id }],
      ["DeleteTaskPushNotificationConfig", { taskId: id, id: "a" }],
      ["SendMessage", { message: message(), configuration: { taskPushNotificationConfig: PUSH } }],
    ];
    for (const [method, params] of asked)
      expect((await rpc(url, method, params)).body).toMatchObject({ error: { code: -32003 } });
    expect(
      (await send(`${url}/.well-known/agent-card.json`, { method: "GET" })).body,
    ).toMatchObject({
      capabilities: { pushNotifications: false },
    });
  });

  it("-32009: takes no version but 1.0, whatever its patch is", async () => {
    const { url } = await startTck();
    const code = async (version: string) => {
      const headers = { "a2a-version": version };
      const { body } = await rpc(url, "ListTasks", {}, headers);
      return body.error?.code ?? "ok";
    };
    const versions = ["1.0", "1.0.1", "0.3", "", "99.0"];
    expect(await Promise.all(versions.map(code))).toEqual(["ok", "ok", -32009, -32009, -32009]);
  });

  it("-32009: no version at all means 0.3; the query may say it", async () => {
    const { url } = await startTck();
    const post = async (path: string) => {
      const body = { jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} };
      const headers = { "content-type": "application/json" };
      const response = await fetch(`${url}${path}`, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
      });
      return (await response.json()) as Record<string, unknown>;
    };
    expect(await post("/")).toMatchObject({ error: { code: -32009 } });
    expect(await post("/?A2A-Version=1.0")).toMatchObject({ result: { tasks: [] } });
  });

  it("-32600: refuses what is no request, with its id if that is one", async () => {
    const { url } = await startTck();
    const bodies = [
      { jsonrpc: "1.0", id: 1, method: "GetTask", params: {} },
      { jsonrpc: "2.0", id: "a", params: {} },
      { jsonrpc: "2.0", id: 1, method: 7 },
      { jsonrpc: "2.0", id: { a: 1 }, method: "GetTask" },
      { jsonrpc: "2.0", id: 1.5, method: "GetTask" },
    ];
    const answers = await Promise.all(bodies.map((body) => send(url, { body })));
    expect(answers.map(({ status, body }) => [status, body.id, body.error!.code])).toEqual(
      [1, "a", 1, null, null].map((id) => [200, id, -32600]),
    );
  });

  it("-32700 and -32600: what cannot be read is told in JSON-RPC, with the status that contract v1 wants", async () => {
    const { url } = await startTck();
    expect(await send(url, { body: "{nonsense" })).toMatchObject({
      status: 400,
      body: { jsonrpc: "2.0", id: null, error: { code: -32700 } },
    });
    expect(await send(url, { body: "[]" })).toMatchObject({
      status: 400,
      body: { error: { code: -32600 } },
    });
  });

  it("-32005: the wrong content type too, for clients that say their version", async () => {
    const { url } = await startTck();
    const headers = { "content-type": "text/plain" };
    expect(await send(url, { body: "{}", headers })).toMatchObject({
      status: 415,
      body: { id: null, error: { code: -32005, data: [{ reason: "CONTENT_TYPE_NOT_SUPPORTED" }] } },
    });
  });

  it("names each error for programs (google.rpc.ErrorInfo)", async () => {
    const { url } = await startTck();
    const { body } = await rpc(url, "GetTask", NOWHERE);
    expect(body.error!.data).toEqual([
      {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        reason: "TASK_NOT_FOUND",
        domain: "a2a-protocol.org",
        metadata: { code: "not_found" },
      },
    ]);
  });

  it("says nothing of what went wrong inside", async () => {
    const sdk = await openSdk();
    const error = toStandardError(sdk, new TypeError("secret of /home/me"));
    expect(sdk.toJsonRpcError(error)).toMatchObject({ code: -32603, message: "Internal error." });
    expect(JSON.stringify(sdk.toRestErrorBody(error, 500))).not.toContain("secret");
  });

  it.each([
    ["not_found", -32001, 404],
    ["exists", -32004, 400],
    ["invalid", -32602, 400],
    ["unsupported_media_type", -32005, 400],
    ["upstream_error", -32006, 500],
    ["result_too_large", -32006, 500],
    ["draining", -32603, 503],
    ["rate_limited", -32603, 429],
  ] as const)("has a word of A2A for %s, or keeps its status", async (code, rpcCode, status) => {
    const sdk = await openSdk();
    const error = toStandardError(sdk, new GatewayError(code, "No."));
    expect(sdk.toJsonRpcError(error).code).toBe(rpcCode);
    expect(restStatusOf(sdk, error)).toBe(status);
  });

  it("-32008: demands the extensions that a card demands", async () => {
    const sdk = await openSdk();
    const required = { uri: "urn:x", required: true, description: "" };
    const card = sdk.AgentCard.fromJSON({ capabilities: { extensions: [required] } });
    const request = sdk.SendMessageRequest.fromJSON({ message: message() });
    expect(() => checkRequest(sdk, request, card, [])).toThrow(/urn:x/);
    expect(() => checkRequest(sdk, request, card, ["urn:x"])).not.toThrow();
  });
});

const WRONG_REST: readonly (readonly [string, string, unknown, number, string])[] = [
  ["GET", "/tasks/nowhere", undefined, 404, "NOT_FOUND"],
  ["POST", "/tasks/nowhere:cancel", {}, 404, "NOT_FOUND"],
  ["POST", "/tasks/nowhere:subscribe", undefined, 404, "NOT_FOUND"],
  ["GET", "/tasks/nowhere:subscribe", undefined, 404, "NOT_FOUND"],
  ["POST", "/tasks/nowhere:explode", {}, 404, "NOT_FOUND"],
  ["GET", "/tasks/nowhere:cancel", undefined, 404, "NOT_FOUND"],
  ["POST", "/message:send", {}, 400, "INVALID_ARGUMENT"],
  ["POST", "/message:send", "{nonsense", 400, "INVALID_ARGUMENT"],
  ["POST", "/message:send", "[]", 400, "INVALID_ARGUMENT"],
  ["POST", "/message:stream", {}, 400, "INVALID_ARGUMENT"],
  ["GET", "/tasks?pageSize=0", undefined, 400, "INVALID_ARGUMENT"],
  ["GET", "/tasks?pageSize=x", undefined, 400, "INVALID_ARGUMENT"],
  ["GET", "/tasks?status=over", undefined, 400, "INVALID_ARGUMENT"],
  ["GET", "/tasks/nowhere?historyLength=-1", undefined, 400, "INVALID_ARGUMENT"],
  ["GET", "/extendedAgentCard", undefined, 400, "FAILED_PRECONDITION"],
  ["GET", "/tasks/a/pushNotificationConfigs", undefined, 400, "FAILED_PRECONDITION"],
  ["GET", "/tasks/a/pushNotificationConfigs/b", undefined, 400, "FAILED_PRECONDITION"],
  ["DELETE", "/tasks/a/pushNotificationConfigs/b", undefined, 400, "FAILED_PRECONDITION"],
  ["POST", "/tasks/a/pushNotificationConfigs", PUSH, 400, "FAILED_PRECONDITION"],
];

describe("errors of HTTP+JSON, asked for raw", () => {
  it("has the status of the specification for everything that is wrong, and a sentence about it", async () => {
    const { url } = await startTck();
    const answers = await Promise.all(
      WRONG_REST.map(([method, path, body]) =>
        send(`${url}${path}`, { method, ...(body !== undefined && { body }) }),
      ),
    );
    const got = answers.map(({ status, body }, row) => [
      ...WRONG_REST[row]!.slice(0, 3),
      status,
      body.error!.status,
    ]);
    expect(got).toEqual(WRONG_REST);
    for (const { status, type, body } of answers)
      expect({ type, ...body }).toMatchObject({
        type: "application/a2a+json",
        error: { code: status, message: expect.stringMatching(/[.]$/) },
      });
  });

  it("takes both of its content types, and no other", async () => {
    const { url } = await startTck();
    const post = (type: string) =>
      send(`${url}/message:send`, {
        headers: { "content-type": type },
        body: { message: message() },
      });
    expect((await post("application/a2a+json")).status).toBe(200);
    expect((await post("application/json; charset=utf-8")).status).toBe(200);
    expect(await post("text/plain")).toMatchObject({
      status: 400,
      body: { error: { details: [{ reason: "CONTENT_TYPE_NOT_SUPPORTED" }] } },
    });
  });

  it("wants its version said", async () => {
    const { url } = await startTck();
    const answer = await send(`${url}/tasks`, { method: "GET", headers: { "a2a-version": "0.3" } });
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { details: [{ reason: "VERSION_NOT_SUPPORTED" }] } },
    });
  });

  it("has GET and POST on a path apart from a colon's verb: no method but POST sends", async () => {
    const { url } = await startTck();
    expect((await send(`${url}/message:send`, { method: "GET" })).status).toBe(405);
    expect((await send(`${url}/message:explode`, { body: {} })).status).toBe(404);
  });
});
