import { writeFile } from "node:fs/promises";
import { exchange, type Input } from "./input.ts";
import { exchangeInSession } from "./mcp-session.ts";
import type { Scene } from "./scene.ts";

const EVENTS = "text/event-stream";

const TOOL = {
  name: "echo",
  title: "Echo",
  description: "Says it again.",
  inputSchema: {
    type: "object",
    properties: { text: { type: "string", enum: ["a"] } },
    required: ["text"],
    $defs: { a: { type: "string" } },
    anyOf: [{ type: "object" }],
  },
  outputSchema: {
    type: "object",
    properties: { rows: { type: "array", items: { type: "string" } } },
  },
  annotations: { readOnlyHint: true },
  icons: [{ src: "https://example.org/a.png", sizes: ["48x48"] }],
  _meta: { a: { b: 1 } },
};
const LISTS = {
  "tools/list": { tools: [TOOL] },
  "resources/list": {
    resources: [
      { uri: "mem://one", name: "one", annotations: { audience: ["user"] }, _meta: { a: 1 } },
    ],
  },
  "resources/templates/list": { resourceTemplates: [{ uriTemplate: "mem://{a}", name: "one" }] },
  "prompts/list": { prompts: [{ name: "greet", arguments: [{ name: "who", required: true }] }] },
  initialize: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {}, resources: {}, prompts: {}, experimental: { a: { b: 1 } } },
    serverInfo: { name: "foe", version: "1", icons: [{ src: "https://example.org/a.png" }] },
    instructions: "Use it.",
  },
} as const;
const RESULT = {
  content: [
    { type: "text", text: "said", annotations: { audience: ["user"] } },
    { type: "resource", resource: { uri: "mem://one", text: "one" } },
    { type: "image", data: "AAAA", mimeType: "image/png" },
  ],
  structuredContent: { rows: ["a"], map: { a: 1 } },
  isError: false,
  _meta: { a: 1 },
};

const answering = (result: object): object => ({ jsonrpc: "2.0", id: "%ID%", result });

/** Lists and greetings of a server over HTTP, which is connected anew. */
const HTTP_LISTS = Object.entries(LISTS).map(([method, result]) =>
  said(`HTTP server: ${method}`, method, answering(result), reconnect),
);

/** What a server over HTTP answers to a request of a client. */
const HTTP_ANSWERS: readonly Input[] = [
  said("HTTP server: tools/call, asked over HTTP", "tools/call", answering(RESULT), ({ gateway }) =>
    exchange(`${gateway.url}/foe/echo`, "POST", Buffer.from("{}")),
  ),
  said("HTTP server: tools/call, asked over MCP", "tools/call", answering(RESULT), (scene) =>
    ask(scene, "tools/call", { name: "foe__echo", arguments: {} }),
  ),
  said(
    "HTTP server: an error",
    "tools/call",
    { jsonrpc: "2.0", id: "%ID%", error: { code: -32000, message: "x", data: { a: [1] } } },
    ({ gateway }) => exchange(`${gateway.url}/foe/echo`, "POST", Buffer.from("{}")),
  ),
  said(
    "HTTP server: resources/read",
    "resources/read",
    answering({ contents: [{ uri: "mem://one", text: "one", _meta: { a: 1 } }] }),
    (scene) => ask(scene, "resources/read", { uri: "mem://one" }),
  ),
  said(
    "HTTP server: prompts/get",
    "prompts/get",
    answering({ messages: [{ role: "user", content: { type: "text", text: "x" } }] }),
    (scene) => ask(scene, "prompts/get", { name: "foe__greet", arguments: {} }),
  ),
];

/** Messages beside the answer, in the event stream of a call. */
const HTTP_EVENTS = Object.entries({
  "notifications/message": { level: "info", data: { a: [1] } },
  "notifications/progress": { progressToken: "x", progress: 1, message: "x" },
  "notifications/resources/updated": { uri: "mem://one" },
  "notifications/cancelled": { requestId: 1, reason: "x" },
  "notifications/other": { a: [1] },
}).map(([method, params]) =>
  said(
    `HTTP server: ${method}`,
    "tools/call",
    { jsonrpc: "2.0", method, params },
    (scene) => ask(scene, "tools/call", { name: "foe__echo", arguments: {} }),
    asEvent,
  ),
);

const HTTP_QUESTIONS = Object.entries({
  "elicitation/create": {
    message: "x",
    requestedSchema: { type: "object", properties: { a: { type: "string" } } },
  },
  "sampling/createMessage": {
    messages: [{ role: "user", content: { type: "text", text: "x" } }],
    maxTokens: 1,
  },
  "roots/list": { _meta: { a: 1 } },
}).map(([method, params]) =>
  said(
    `HTTP server: ${method}`,
    "tools/call",
    { jsonrpc: "2.0", id: 1, method, params },
    (scene) => ask(scene, "tools/call", { name: "foe__echo", arguments: {} }),
    asEvent,
  ),
);

/** The same of a child: lists, answers, notifications. */
const STDIO: readonly Input[] = [
  ...Object.entries(LISTS).map(([method, result]) =>
    written(`child: ${method}`, method, answering(result), reconnectChild),
  ),
  written("child: tools/call", "tools/call", answering(RESULT), ({ gateway }) =>
    exchange(`${gateway.url}/parrot/echo`, "POST", Buffer.from("{}")),
  ),
];

const CHUNK = {
  id: "x",
  object: "chat.completion.chunk",
  model: "scripted",
  choices: [
    {
      index: 0,
      delta: {
        role: "assistant",
        content: "x",
        reasoning_content: "y",
        tool_calls: [{ index: 0, id: "c", function: { name: "good__echo", arguments: "{}" } }],
      },
      finish_reason: "stop",
    },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
};

/** What a run may take, in bytes: a model says the same at each turn, 8,000,000 characters in all. */
const RUN_MEMORY = 20 * 8_000_000;

/** What a model answers. */
const MODEL: readonly Input[] = [
  {
    ...said("model: a chunk", "/v1/chat/completions", CHUNK, askAgent, (bytes) =>
      Buffer.concat([Buffer.from("data: "), bytes, Buffer.from("\n\ndata: [DONE]\n\n")]),
    ),
    memory: RUN_MEMORY,
  },
  said("model: an error", "/v1/chat/completions", { error: { message: "x", data: [1] } }, askAgent),
];

const OPERATION = {
  operationId: "list",
  summary: "Lists.",
  tags: ["a"],
  parameters: [{ name: "a", in: "query", schema: { type: "string", enum: ["a"] } }],
  requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/A" } } } },
  responses: {
    200: { description: "ok", content: { "application/json": { schema: { type: "object" } } } },
  },
};

/** What the thread that reads a document may take, in bytes. */
const DOCUMENT_MEMORY = 512 * 1024 * 1024;

/** Documents and cards. */
const DOCUMENTS: readonly Input[] = [
  {
    ...said(
      "OpenAPI document",
      "/document.json",
      {
        openapi: "3.1.0",
        info: { title: "x", version: "1" },
        servers: [{ url: "/api" }],
        paths: { "/a": { post: OPERATION } },
        components: { schemas: { A: { type: "object", properties: { b: { type: "string" } } } } },
      },
      (scene) => reinit(scene, "rows"),
    ),
    memory: DOCUMENT_MEMORY,
  },
  said("answer of an API", "/api/a", { rows: [{ a: 1 }], map: { a: 1 } }, ({ gateway }) =>
    exchange(`${gateway.url}/rows/list`, "POST", Buffer.from("{}")),
  ),
  said(
    "registry document",
    "/registry",
    {
      servers: [
        {
          server: {
            name: "a/b",
            title: "B",
            description: "x",
            icons: [{ src: "https://example.org/a.png" }],
            remotes: [{ type: "streamable-http", url: "http://127.0.0.1:9/mcp" }],
          },
        },
      ],
    },
    ({ gateway, foe }) =>
      exchange(
        `${gateway.url}/api/v1/pallas`,
        "POST",
        Buffer.from(JSON.stringify({ registry_url: `${foe.url}/registry` })),
      ),
  ),
  said(
    "A2A card",
    "/agent/.well-known/agent-card.json",
    {
      protocolVersions: ["1.0"],
      name: "x",
      description: "x",
      version: "1",
      supportedInterfaces: [{ url: "/agent", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
      capabilities: { extensions: [{ uri: "urn:a" }] },
      defaultInputModes: ["text"],
      defaultOutputModes: ["text"],
      skills: [{ id: "talk", name: "talk", description: "x", tags: ["a"], examples: ["b"] }],
    },
    (scene) => reinit(scene, "agent"),
  ),
  said(
    "A2A answer",
    "/agent",
    {
      jsonrpc: "2.0",
      id: "%ID%",
      result: {
        task: {
          id: "t",
          contextId: "c",
          status: { state: "TASK_STATE_COMPLETED" },
          artifacts: [{ artifactId: "a", parts: [{ text: "x" }] }],
        },
      },
    },
    ({ gateway }) => exchange(`${gateway.url}/agent/talk`, "POST", Buffer.from('{"message":"x"}')),
  ),
  said(
    "OAuth metadata of a server",
    "/.well-known/oauth-protected-resource/guarded",
    { resource: "x", authorization_servers: ["x"], scopes_supported: ["a"] },
    (scene) => login(scene),
  ),
  said(
    "OAuth metadata of an authorization server",
    "/.well-known/oauth-authorization-server",
    { issuer: "x", authorization_endpoint: "x", code_challenge_methods_supported: ["S256"] },
    (scene) => login(scene),
  ),
];

/** What others answer. */
export const UPSTREAM_INPUTS: readonly Input[] = [
  ...HTTP_LISTS,
  ...HTTP_ANSWERS,
  ...HTTP_EVENTS,
  ...HTTP_QUESTIONS,
  ...STDIO,
  ...MODEL,
  ...DOCUMENTS,
];

/** Something that the foe says when it is asked for this path or method. */
function said(
  name: string,
  key: string,
  sample: unknown,
  trigger: (scene: Scene) => Promise<unknown>,
  frame?: (bytes: Buffer) => Buffer,
): Input {
  return {
    name,
    sample,
    async send(scene, bytes) {
      scene.foe.say(key, frame ? frame(bytes) : bytes, frame && EVENTS);
      await trigger(scene);
      scene.foe.say(key, undefined);
    },
  };
}

/** Something that a child writes in place of its answer. */
function written(
  name: string,
  method: string,
  sample: unknown,
  trigger: (scene: Scene) => Promise<unknown>,
): Input {
  return {
    name,
    sample,
    // Each is a new process.
    tried: 30,
    async send(scene, bytes) {
      const file = scene.parrotFile(method);
      await writeFile(file, bytes);
      await trigger(scene);
      await writeFile(file, "");
    },
  };
}

function asEvent(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from("data: "), bytes, Buffer.from("\n\n")]);
}

function reinit({ gateway }: Scene, server: string): Promise<unknown> {
  return exchange(`${gateway.url}/_meta/reinit/${server}`, "POST", undefined);
}

function reconnect(scene: Scene): Promise<unknown> {
  return reinit(scene, "foe");
}

function reconnectChild(scene: Scene): Promise<unknown> {
  return reinit(scene, "parrot");
}

function ask({ gateway }: Scene, method: string, params: object): Promise<unknown> {
  const message = { jsonrpc: "2.0", id: 1, method, params };
  return exchangeInSession(`${gateway.url}/mcp`, Buffer.from(JSON.stringify(message)));
}

function askAgent({ gateway }: Scene): Promise<unknown> {
  const params = { name: "worker", arguments: { message: "Hello." } };
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const bytes = Buffer.from(JSON.stringify(message));
  return exchangeInSession(`${gateway.url}/agents/worker/mcp`, bytes);
}

function login({ gateway }: Scene): Promise<unknown> {
  return exchange(
    `${gateway.url}/_meta/oauth-client/servers/locked/login`,
    "POST",
    Buffer.from("{}"),
  );
}
