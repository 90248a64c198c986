import { Answer, definePlugin, type GatewayConfigInput, type Json } from "propylon";
import { digestOf } from "propylon/kit";
import { readTypedEvents } from "../../../core/kit/events.ts";
import { type PluginEntry, setupGateway } from "propylon/testing";
import { createKey } from "../../../plugins/keys/key.ts";
import openapi from "../../../plugins/openapi/index.ts";
import tasks, { Tasks, type TaskService } from "../../../plugins/tasks/index.ts";
import { modernMeta, postModern } from "../mcp/kit.ts";

/** What a client says that knows tasks and can be asked. */
export const KNOWS = {
  elicitation: {},
  extensions: { "io.modelcontextprotocol/tasks": {} },
};

const KEYS = { ada: createKey("caller"), bob: createKey("caller") };

/** Who asks. */
export type Person = keyof typeof KEYS;

/** A call that has begun. */
export interface Begun {
  finish(answer?: Answer | Error): void;
  report(message: string): void;
  ask(method?: string): Promise<Json>;
  reason?: unknown;
}

/** A server whose calls end when the test says so. */
export function createWork() {
  const calls: Begun[] = [];
  const work = definePlugin({
    name: "work",
    setup(gateway) {
      gateway.tool("wait", { description: "Waits.", input: { type: "object" }, run: () => "" });
      gateway.tool("now", { description: "Ends.", input: { type: "object" }, run: () => "done" });
      gateway.use(
        "dispatch",
        (call, next) =>
          new Promise((resolve, reject) => {
            if (call.name !== "wait") return resolve(next(call));
            const begun: Begun = {
              finish: (end = Answer.result({ content: [{ type: "text", text: "ended" }] })) =>
                end instanceof Error ? reject(end) : resolve(end),
              report: (message) => call.progress?.({ progress: 1, message }),
              ask: (method = "elicitation/create") =>
                call.peer.ask(method, { message: "Really?", requestedSchema: {} }),
            };
            call.signal.addEventListener("abort", () => {
              begun.reason = call.signal.reason as unknown;
              reject(call.signal.reason as Error);
            });
            calls.push(begun);
          }),
      );
    },
  });
  return { work, calls };
}

function keysOf() {
  const all = Object.entries(KEYS).map(([who, key]) => [
    who,
    { role: "caller" as const, hash: `sha256:${digestOf(key)}` },
  ]);
  return Object.fromEntries(all) as Record<Person, { role: "caller"; hash: string }>;
}

/** A gateway whose calls become tasks at once, unless the options say otherwise. */
export async function startTasks(
  options: Json = {},
  config: GatewayConfigInput = {},
  others: readonly PluginEntry[] = [],
) {
  const { work, calls } = createWork();
  const held: { service?: TaskService } = {};
  const holder = definePlugin({
    name: "holder",
    inject: { tasks: Tasks },
    setup: ({ services }) => void (held.service = services.tasks),
  });
  const { gateway, url } = await setupGateway({
    client: false,
    plugins: [[tasks, { after: 0, ...options }], [openapi, {}], work, holder, ...others],
    config: { auth: { keys: keysOf() }, ...config },
  });
  const as = (who: Person) => ({ authorization: `Bearer ${KEYS[who]}` });
  let id = 0;
  const send = async (
    method: string,
    params: Json,
    who: Person = "ada",
    capabilities: Json = KNOWS,
  ) => {
    const { taskId } = params;
    const response = await postModern(
      new URL(`${url}/mcp`),
      ++id,
      method,
      { ...params, _meta: modernMeta(capabilities) },
      { ...as(who), ...(typeof taskId === "string" && { "mcp-name": taskId }) },
    );
    const text = await response.text();
    return {
      status: response.status,
      text,
      ...(JSON.parse(text) as { result?: Json; error?: Json }),
    };
  };
  const call = (text = "", who: Person = "ada", capabilities: Json = KNOWS, name = "wait") =>
    send("tools/call", { name, arguments: { text } }, who, capabilities);
  const begin = async (text = "", who: Person = "ada") =>
    String((await call(text, who)).result?.["taskId"]);
  const show = async (taskId: string, who: Person = "ada") =>
    (await send("tasks/get", { taskId }, who)).result!;
  const rest = async (
    method: string,
    path: string,
    who: Person = "ada",
    more: Record<string, string> = {},
    body?: string,
  ) => {
    const headers = { ...as(who), ...more };
    const response = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body }),
    });
    return { status: response.status, body: (await response.json()) as Json };
  };
  /** Opens a stream. @returns its messages so far, in order, and its end; or why there is none */
  const listen = async (notifications: Json, who: Person = "ada", capabilities: Json = KNOWS) => {
    const response = await postModern(
      new URL(`${url}/mcp`),
      "L",
      "subscriptions/listen",
      { notifications, _meta: modernMeta(capabilities) },
      as(who),
    );
    const messages: Json[] = [];
    if (!response.headers.get("content-type")?.includes("event-stream"))
      return { messages, refusal: (await response.json()) as Json };
    const reading = (async () => {
      const events = readTypedEvents(response.body!, 2 ** 20, () => new Error("too large"));
      for await (const { data } of events) messages.push(JSON.parse(data) as Json);
    })();
    const end = reading.catch(() => {});
    return { messages, end };
  };
  const counts = () => held.service!.calls.counts;
  return { gateway, url, calls, counts, send, call, begin, show, rest, listen };
}
