import { TaskState } from "@a2a-js/sdk";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createFileGateway, type Gateway } from "../../../core/index.ts";
import { all, BINDINGS, connect, rpc, say, send, startTck, TCK, type RawAnswer } from "./kit.ts";

// What the public kit (a2aproject/a2a-tck, tests/compatibility) demands as MUST, looked at raw, by its requirement ids.

type Json = Readonly<Record<string, unknown>>;

/** What tests look at in an answer, whatever it is the answer to. */
interface Shown {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string; readonly timestamp: string };
  readonly history?: readonly { readonly role: string }[];
  readonly artifacts?: readonly unknown[];
  readonly task: Shown;
  readonly tasks: readonly Shown[];
  readonly configs: readonly unknown[];
  readonly nextPageToken: string;
}

/** How an operation is asked for in either binding. */
interface Operation {
  readonly method: string;
  readonly params?: Json;
  readonly rest: readonly [method: string, path: string];
  /** Body of the request in HTTP+JSON; default: none. */
  readonly body?: Json;
}

interface Outcome {
  readonly status: number;
  readonly type: string | null;
  /** What succeeded; `undefined` = it failed. */
  readonly result: Shown | undefined;
  /** Reason of the `google.rpc.ErrorInfo`. */
  readonly reason: string | undefined;
  readonly raw: Json;
}

type Ask = (operation: Operation) => Promise<Outcome>;

let gateway: Gateway;
let url: string;

/** The agent for the kit, once: each test has tasks of its own. */
beforeAll(async () => {
  vi.stubEnv("A2A_TCK_PORT", "0");
  gateway = await createFileGateway(`${TCK}/gateway.yaml`, { log: pino({ level: "silent" }) });
  await gateway.listen();
  url = gateway.addresses.get("main")!.url;
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await gateway.close({ grace: 0 });
});

const ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo";

interface ErrorInfo {
  readonly "@type": string;
  readonly reason: string;
}

/** Asks through one binding. */
function asker(binding: (typeof BINDINGS)[number]): Ask {
  return async ({ method, params = {}, rest: [verb, path], body }) => {
    const answer: RawAnswer =
      binding === "JSONRPC"
        ? await rpc(url, method, params)
        : await send(`${url.replace(/\/$/, "")}${path}`, { method: verb, body });
    const raw = answer.body as Json;
    const error = raw["error"] as { data?: ErrorInfo[]; details?: ErrorInfo[] } | undefined;
    const info = (error?.data ?? error?.details)?.find((detail) => detail["@type"] === ERROR_INFO);
    const result = error ? undefined : binding === "JSONRPC" ? raw["result"] : raw;
    return { ...answer, raw, result: result as Shown | undefined, reason: info?.reason };
  };
}

const message = (prefix: string, rest: Json = {}): Json => ({
  messageId: say(prefix).messageId,
  role: "ROLE_USER",
  parts: [{ text: "hi" }],
  ...rest,
});

const sending = (body: Json): Operation => ({
  method: "SendMessage",
  params: body,
  rest: ["POST", "/message:send"],
  body,
});

const getting = (id: string, historyLength?: number): Operation => ({
  method: "GetTask",
  params: { id, ...(historyLength !== undefined && { historyLength }) },
  rest: [
    "GET",
    `/tasks/${id}${historyLength === undefined ? "" : `?historyLength=${historyLength}`}`,
  ],
});

const cancelling = (id: string): Operation => ({
  method: "CancelTask",
  params: { id },
  rest: ["POST", `/tasks/${id}:cancel`],
});

const listing = (params: Json): Operation => ({
  method: "ListTasks",
  params,
  rest: ["GET", `/tasks?${new URLSearchParams(params as Record<string, string>).toString()}`],
});

/** An operation on the webhook `w` of a task. */
function webhook(verb: "Create" | "Get" | "List" | "Delete", taskId: string): Operation {
  const path = `/tasks/${taskId}/pushNotificationConfigs`;
  const config = { id: "w", url: "https://example.com/hook" };
  const one = { taskId, id: "w" };
  return {
    Create: {
      method: "CreateTaskPushNotificationConfig",
      params: { taskId, ...config },
      rest: ["POST", path] as const,
      body: config,
    },
    Get: {
      method: "GetTaskPushNotificationConfig",
      params: one,
      rest: ["GET", `${path}/w`] as const,
    },
    List: {
      method: "ListTaskPushNotificationConfigs",
      params: { taskId },
      rest: ["GET", path] as const,
    },
    Delete: {
      method: "DeleteTaskPushNotificationConfig",
      params: one,
      rest: ["DELETE", `${path}/w`] as const,
    },
  }[verb];
}

/** The task that a message makes. */
async function make(ask: Ask, prefix: string, rest: Json = {}): Promise<Shown> {
  const { result } = await ask(sending({ message: message(prefix), ...rest }));
  return result!.task;
}

const COMPLETED = TaskState.TASK_STATE_COMPLETED;

const stateOf = ({ status }: Shown): string => status.state;

describe.each(BINDINGS)("what the public kit demands, through %s", (binding) => {
  const ask = asker(binding);

  it("CORE-SEND-002, CORE-CANCEL-002: a task that ended takes no message and no cancel", async () => {
    const { id } = await make(ask, "tck-complete-task");
    const late = await ask(sending({ message: message("tck-terminal", { taskId: id }) }));
    expect(late).toMatchObject({ result: undefined, reason: "UNSUPPORTED_OPERATION" });
    expect(await ask(cancelling(id))).toMatchObject({ reason: "TASK_NOT_CANCELABLE" });
  });

  it("CORE-SEND-003: a file of a type that the agent does not take is refused as that", async () => {
    const parts = [{ raw: "dGNr", mediaType: "application/x-unsupported-tck-type" }];
    const refused = await ask(sending({ message: message("tck-send-003", { parts }) }));
    expect(refused.reason).toBe("CONTENT_TYPE_NOT_SUPPORTED");
  });

  it("CORE-GET-002, CORE-CANCEL-003, CORE-MULTI-004: a task that is not there is said to be that", async () => {
    const nowhere = message("tck-multi-004", { taskId: "nowhere" });
    for (const operation of [
      getting("nowhere"),
      cancelling("nowhere"),
      sending({ message: nowhere }),
    ])
      expect((await ask(operation)).reason).toBe("TASK_NOT_FOUND");
  });

  it("CORE-EXECUTION-MODE-001 and -002: waits for the end, or answers at once when told to", async () => {
    const config = (returnImmediately: boolean) => ({ configuration: { returnImmediately } });
    const [waited, immediate] = await Promise.all([
      make(ask, "tck-delayed-complete", config(false)),
      make(ask, "tck-delayed-complete", config(true)),
    ]);
    expect(stateOf(waited)).toBe("TASK_STATE_COMPLETED");
    expect(["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"]).toContain(stateOf(immediate));
  });

  it("AUTH-INTASK-001 and -002: credentials are asked for in a task, which waits and is there", async () => {
    const task = await make(ask, "tck-auth-required");
    expect(stateOf(task)).toBe("TASK_STATE_AUTH_REQUIRED");
    const { result } = await ask(getting(task.id));
    expect(stateOf(result!)).toBe("TASK_STATE_AUTH_REQUIRED");
  });

  it("CORE-MULTI-001a, -002, -003, -005, -006: ids of tasks and contexts", async () => {
    const first = await make(ask, "tck-input-required");
    const second = await make(ask, "tck-input-required");
    expect(first.contextId).toMatch(/./);
    expect(second.id).not.toBe(first.id);
    const own = await make(ask, "tck-complete-task", {
      message: message("tck-complete-task", { contextId: "mine" }),
    });
    expect(own.contextId).toBe("mine");
    const taskId = first.id;
    const wrong = message("tck-mismatch", { taskId, contextId: "tck-wrong-context" });
    expect((await ask(sending({ message: wrong }))).result).toBeUndefined();
    const { result } = await ask(sending({ message: message("tck-infer-ctx", { taskId }) }));
    expect(result!.task).toMatchObject({ id: taskId, contextId: first.contextId });
  });

  it("CORE-LIST-002 to -005: pages with a cursor, the newest first, artifacts only when asked for", async () => {
    const contextId = say("tck-context").messageId;
    const body = () => ({ message: message("tck-complete-task", { contextId }) });
    const made: string[] = [];
    for (let count = 0; count < 3; count++)
      made.push((await make(ask, "tck-complete-task", body())).id);
    const { result: first } = await ask(listing({ contextId, pageSize: 2 }));
    expect(first!.nextPageToken).not.toBe("");
    const pageToken = first!.nextPageToken;
    const { result: last } = await ask(listing({ contextId, pageSize: 2, pageToken }));
    expect(last).toMatchObject({ nextPageToken: "", totalSize: 3, pageSize: 2 });
    const tasks = [...first!.tasks, ...last!.tasks];
    expect(tasks.map(({ id }) => id)).toEqual(made.toReversed());
    expect(tasks.some((task) => "artifacts" in task)).toBe(false);
    const { result: full } = await ask(listing({ contextId, includeArtifacts: true }));
    expect(full!.tasks.map(({ artifacts }) => artifacts?.length)).toEqual([1, 1, 1]);
  });

  it("CORE-HIST-001 to -003: no more history than asked for, and none for 0", async () => {
    const { id: taskId } = await make(ask, "tck-input-required");
    const body = {
      message: message("tck-complete-task", { taskId }),
      configuration: { historyLength: 0 },
    };
    const { result: sent } = await ask(sending(body));
    expect(sent!.task.history ?? []).toEqual([]);
    expect((await ask(getting(taskId, 0))).result!.history ?? []).toEqual([]);
    expect((await ask(getting(taskId, 1))).result!.history).toHaveLength(1);
    expect((await ask(getting(taskId))).result!.history!.length).toBeGreaterThan(1);
  });

  it("CORE-CAP-003: there is no extended card, also when nothing is sent along", async () => {
    const rest = ["GET", "/extendedAgentCard"] as const;
    const { reason } = await ask({ method: "GetExtendedAgentCard", rest });
    expect(reason).toBe("UNSUPPORTED_OPERATION");
  });

  it("STREAM-SUB-001, -002, STREAM-ORDER-002 to -004: each stream has the same events, whoever closes another", async () => {
    const { id } = await make(ask, "tck-input-required");
    const client = await connect(url, binding);
    const streams = [1, 2, 3].map(() => client.resubscribeTask({ tenant: "", id }));
    const firsts = await Promise.all(streams.map(async (stream) => (await stream.next()).value));
    expect(firsts.map((event) => event?.payload?.$case)).toEqual(["task", "task", "task"]);
    await streams[0]!.return();
    await make(ask, "", { message: message("tck-complete-task", { taskId: id }) });
    const [second, third] = await Promise.all([all(streams[1]!), all(streams[2]!)]);
    expect(second).toEqual(third);
    expect(second.at(-1)?.payload).toMatchObject({ value: { status: { state: COMPLETED } } });
  });

  it("PUSH-CREATE-001 to PUSH-DEL-002: webhooks, of a task that ended too; deleting is idempotent", async () => {
    const { id } = await make(ask, "tck-complete-task");
    expect((await ask(webhook("Create", id))).result).toMatchObject({ id: "w", taskId: id });
    expect((await ask(webhook("Get", id))).result).toMatchObject({
      url: "https://example.com/hook",
    });
    expect((await ask(webhook("List", id))).result!.configs).toHaveLength(1);
    for (let count = 0; count < 2; count++)
      expect((await ask(webhook("Delete", id))).raw["error"]).toBeUndefined();
    expect((await ask(webhook("Get", id))).reason).toBe("TASK_NOT_FOUND");
  });

  it("DM-SERIAL-001 to -003, -005: camelCase, names of states, times in UTC, unknown members passed over", async () => {
    const unknown = message("tck-complete-task", { tckUnknownField: "x" });
    const { result } = await ask(sending({ message: unknown, tckExtraParam: 42 }));
    const keys: string[] = [];
    JSON.stringify(result, (key, value: unknown) => (keys.push(key), value));
    expect(keys.filter((key) => key.includes("_"))).toEqual([]);
    const { status, history } = result!.task;
    expect(status).toMatchObject({ state: "TASK_STATE_COMPLETED" });
    expect(status.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(history!.map(({ role }) => role)).toEqual(["ROLE_USER"]);
  });
});

it("JSONRPC-ERR-001 and -003: an error has a code, a message and a list of details, and no other member", async () => {
  const ask = asker("JSONRPC");
  const { raw, type } = await ask(getting("nowhere"));
  expect(type).toContain("application/json");
  expect(raw["error"]).toEqual({
    code: -32001,
    message: expect.any(String),
    data: [expect.objectContaining({ reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" })],
  });
});

it("HTTP_JSON-ERR-001 and -002, HTTP_JSON-SVC-001: an error is a google.rpc.Status with the status of the answer", async () => {
  const ask = asker("HTTP+JSON");
  const { raw, status, type } = await ask(getting("nowhere"));
  expect([status, type]).toEqual([404, "application/a2a+json"]);
  expect(raw["error"]).toMatchObject({
    code: 404,
    status: "NOT_FOUND",
    message: expect.any(String),
    details: [expect.objectContaining({ domain: "a2a-protocol.org" })],
  });
});

it("JSONRPC-SVC-002, HTTP_JSON-SVC-002: extensions that the agent does not know are none of its business", async () => {
  const headers = { "a2a-extensions": "https://example.com/ext/v1,https://example.com/ext/v2" };
  const params = { message: message("tck-complete-task") };
  expect((await rpc(url, "SendMessage", params, headers)).body.error).toBeUndefined();
  const body = { message: message("tck-complete-task") };
  expect((await send(`${url}/message:send`, { headers, body })).status).toBe(200);
});

it("the card has what the options say of whom it is, and of what skills take and give", async () => {
  const said = {
    provider: { organization: "Acme", url: "https://acme.example/" },
    documentationUrl: "https://acme.example/docs",
    iconUrl: "https://acme.example/icon.png",
  };
  const modes = { inputModes: ["text/plain"], outputModes: ["application/pdf"] };
  const { url: own } = await startTck({ options: { ...said, ...modes } });
  const response = await fetch(`${own}/.well-known/agent-card.json`);
  expect(await response.json()).toMatchObject({
    ...said,
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["application/pdf"],
  });
});

it("CARD-STRUCT-001, CARD-PROTO-001 and -002, CARD-CACHE-001 and -002: the card has what it must", async () => {
  const response = await fetch(`${url}/.well-known/agent-card.json`);
  const card = (await response.json()) as Json;
  const members = ["name", "description", "version", "capabilities", "skills"];
  expect(Object.keys(card)).toEqual(expect.arrayContaining(members));
  expect(card["defaultInputModes"]).toContain("text/plain");
  expect(card["defaultOutputModes"]).toContain("text/plain");
  for (const skill of card["skills"] as readonly Json[])
    expect(Object.keys(skill)).toEqual(
      expect.arrayContaining(["id", "name", "description", "tags"]),
    );
  expect(
    (card["supportedInterfaces"] as readonly Json[]).map(({ protocolBinding }) => protocolBinding),
  ).toEqual([...BINDINGS]);
  expect(response.headers.get("cache-control")).toContain("max-age=");
  expect(response.headers.get("etag")).toMatch(/^"/);
});
