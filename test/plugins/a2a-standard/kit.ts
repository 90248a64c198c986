import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import {
  ClientFactory,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type Client,
} from "@a2a-js/sdk/client";
import {
  Role,
  type Message,
  type Part,
  type SendMessageRequest,
  type StreamResponse,
} from "@a2a-js/sdk";
import { startRuntime, type RuntimeSetup, type TestRuntime } from "../a2a/kit.ts";

/** The two bindings, by the names that cards have for them. */
export const BINDINGS = ["JSONRPC", "HTTP+JSON"] as const;

/** Folder of the agent of the TCK. */
export const TCK = fileURLToPath(new URL("../../fixtures/a2a-tck", import.meta.url));

/** A runtime with the skill of the TCK, and more where a test needs it. */
export function startTck({
  skills = [],
  ...setup
}: Partial<RuntimeSetup> = {}): Promise<TestRuntime> {
  return startRuntime({
    cwd: TCK,
    ...setup,
    skills: [{ id: "tck", description: "For tests.", function: "./skill.mjs" }, ...skills],
  });
}

/** The SDK's own client, through one binding. */
export function connect(url: string, binding: (typeof BINDINGS)[number]): Promise<Client> {
  const transport =
    binding === "JSONRPC" ? new JsonRpcTransportFactory() : new RestTransportFactory();
  return new ClientFactory({ transports: [transport] }).createFromUrl(url);
}

let count = 0;

/** A message whose id begins with a prefix. */
export function say(prefix: string, rest: Partial<Message> = {}): Message {
  return {
    messageId: `${prefix}-${++count}`,
    contextId: "",
    taskId: "",
    role: Role.ROLE_USER,
    parts: [text("hello")],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...rest,
  };
}

export function text(value: string): Part {
  return { content: { $case: "text", value }, metadata: undefined, filename: "", mediaType: "" };
}

/** A request around a message. */
export function sending(message: Message, configuration: object = {}): SendMessageRequest {
  return {
    tenant: "",
    message,
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: false,
      ...configuration,
    },
    metadata: undefined,
  };
}

/** Everything that a stream tells. */
export async function all(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const events: StreamResponse[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** What kinds of events there were, in order. */
export function kindsOf(events: readonly StreamResponse[]): (string | undefined)[] {
  return events.map(({ payload }) => payload?.$case);
}

/** What tests look at in an answer. */
export interface RawBody {
  readonly id?: unknown;
  readonly result?: { readonly task: { readonly id: string; readonly contextId: string } };
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly status?: string;
    readonly data?: unknown;
  };
}

/** The answer to a request as it came. */
export interface RawAnswer {
  readonly status: number;
  readonly type: string | null;
  readonly body: RawBody;
}

/** Sends a request of A2A 1.0 with headers and body as given. */
export async function send(
  url: string,
  {
    method = "POST",
    headers = {},
    body,
  }: { method?: string; headers?: object; body?: unknown } = {},
): Promise<RawAnswer> {
  const response = await fetch(url, {
    method,
    headers: {
      "a2a-version": "1.0",
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const written = await response.text();
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    body: (written === "" ? {} : JSON.parse(written)) as RawBody,
  };
}

/** Calls a method by JSON-RPC. */
export function rpc(
  url: string,
  method: string,
  params: unknown,
  headers = {},
): Promise<RawAnswer> {
  return send(url, { headers, body: { jsonrpc: "2.0", id: 1, method, params } });
}

/** Where webhooks of tests are. */
export const PUSH = { enabled: true, allow: ["127.0.0.0/8"] };

/** The operations on a task's webhooks at one gateway, as one principal. */
export function webhooksOf(
  url: string,
  taskId: string,
  headers = {},
): {
  /** The JSON-RPC answers. */
  readonly create: (config: object) => Promise<RawBody>;
  readonly remove: (id: string) => Promise<RawBody>;
  /** URLs of all, or the code of the error. */
  readonly urls: () => Promise<readonly string[] | number>;
} {
  const call = async (method: string, params: object): Promise<RawBody> =>
    (await rpc(url, `${method}TaskPushNotificationConfig`, { taskId, ...params }, headers)).body;
  return {
    create: (config) => call("Create", config),
    remove: (id) => call("Delete", { id }),
    async urls() {
      const { body } = await rpc(url, "ListTaskPushNotificationConfigs", { taskId }, headers);
      const { configs = [] } = (body.result ?? {}) as { configs?: readonly { url: string }[] };
      return body.error?.code ?? configs.map((config) => config.url);
    },
  };
}

/** A key of a caller as a config has it. */
export function keyFor(key: string): { readonly role: "caller"; readonly hash: string } {
  return { role: "caller", hash: `sha256:${createHash("sha256").update(key).digest("hex")}` };
}
