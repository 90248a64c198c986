import { randomUUID } from "node:crypto";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  McpError,
  ResourceUpdatedNotificationSchema,
  type Progress,
} from "@modelcontextprotocol/sdk/types.js";
import { onTestFinished } from "vitest";
import { deferred } from "../kit/deferred.ts";
import { until } from "../kit/until.ts";
import type { Program } from "./fleet.ts";

/** An exchange that takes longer has no answer. */
const ANSWER_MS = 12_000;
/** Reports of a call of `steps`. */
const STEPS = 3;

/** Tools whose calls need more than an answer, for {@link RoamingClient}. */
export const TOOLS = `
import { definePlugin } from "propylon";
import { Store } from "propylon/store";
export default definePlugin({
  name: "tools",
  inject: { store: Store },
  setup(gateway) {
    const input = { type: "object", properties: { name: { type: "string" } } };
    const cancelled = gateway.services.store.kv("cancelled", { ttl: 600_000 });
    const tool = (name, run) => gateway.tool(name, { description: name, input, run });
    tool("echo", ({ name }) => name);
    tool("ask", async ({ name }, call) => {
      const requestedSchema = { type: "object", properties: { said: { type: "string" } } };
      const answer = await call.peer.ask("elicitation/create", { message: name, requestedSchema });
      return answer.content.said;
    });
    tool("sample", async ({ name }, call) => {
      const messages = [{ role: "user", content: { type: "text", text: name } }];
      const answer = await call.peer.ask("sampling/createMessage", { messages, maxTokens: 10 });
      return answer.content.text;
    });
    tool("steps", ({ name }, call) => {
      for (let progress = 1; progress <= ${STEPS}; progress++) call.progress?.({ progress, message: name });
      return name;
    });
    tool("wait", async ({ name }, call) => {
      call.progress?.({ progress: 1, message: String(process.pid) });
      await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
      await cancelled.put(name, true);
      return name;
    });
    // Every gateway hears of it by itself, as of an update of a server that all of them use.
    const notes = gateway.resource("notes", { uriTemplate: "note:///{name}", read: () => ({ text: "" }) });
    const touched = gateway.services.store.topic("touched");
    gateway.onStart(async () => {
      const stop = await touched.subscribe((name) => notes.updated(\`note:///\${name}\`));
      return () => void stop();
    });
    tool("touch", async ({ name }) => {
      await touched.publish(name);
      return name;
    });
    tool("cancelled", async ({ name }) => String((await cancelled.get(name)) !== undefined));
  },
});
`;

/** What came of all exchanges. */
export class Outcome {
  done = 0;
  /** Ended by a kill, and said so. */
  lost = 0;
  /** Answers of HTTP that a session is not there. */
  terminated = 0;
  /** Answers and cancellations whose request was broken by a kill: official clients do not send them again, so the call goes on. */
  unsaid = 0;
  /** Anything else, in words. */
  readonly wrong: string[] = [];
  /** Processes of gateways that were killed. */
  readonly killed = new Set<number>();

  note(error: unknown, what: string): void {
    const code = error instanceof McpError ? (error.data as { code?: string })?.code : undefined;
    // A connection that broke while it waited is one that a client may use again.
    const isBroken = error instanceof TypeError || /\b503\b/.test(String(error));
    const isUnsaid = /Request timed out/.test(String(error)) && this.unsaid-- > 0;
    if (code === "unavailable" || isBroken || isUnsaid) this.lost++;
    else this.wrong.push(`${what}: ${String(error)}`);
  }

  /** A call that nobody cancelled, since its gateway died or the message to it was broken. */
  noteUncancelled(name: string, pid: number): void {
    if (this.killed.has(pid) || this.unsaid-- > 0) this.lost++;
    else this.wrong.push(`${name} was not cancelled.`);
  }
}

/** Whether nobody sends a message again whose request broke. */
function isSaidOnce(init: RequestInit | undefined): boolean {
  if (typeof init?.body !== "string") return false;
  const { method } = JSON.parse(init.body) as { method?: string };
  return method === undefined || method === "notifications/cancelled";
}

/** Sends each request to another gateway, past those that do not listen, as a balancer does. */
function roam(fleet: readonly Program[], outcome: Outcome): typeof fetch {
  return async (_url, init) => {
    for (let tries = 0; ; tries++) {
      const up = fleet.filter(({ isUp }) => isUp);
      const { url } = up[Math.floor(Math.random() * up.length)]!;
      try {
        const response = await fetch(url, init);
        if (response.status === 404) outcome.terminated++;
        return response;
      } catch (error) {
        const { cause } = error as { cause?: { code?: string } };
        if (cause?.code === "ECONNREFUSED" && tries <= 20) continue;
        if (isSaidOnce(init)) outcome.unsaid++;
        throw error;
      }
    }
  };
}

/** An official client of the older era, each request of which goes to any gateway of a fleet. */
export class RoamingClient {
  readonly client: Client;
  readonly #outcome: Outcome;
  /** Of the resource that it watches. */
  readonly #note: string;
  /** How often it was told of it. */
  #updates = 0;

  private constructor(client: Client, outcome: Outcome, note: string) {
    this.client = client;
    this.#outcome = outcome;
    this.#note = note;
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      if (params.uri === `note:///${note}`) this.#updates++;
      else outcome.wrong.push(`${note} was told of ${params.uri}`);
    });
  }

  static async connect(fleet: readonly Program[], outcome: Outcome): Promise<RoamingClient> {
    const client = new Client(
      { name: "roaming", version: "1" },
      { capabilities: { elicitation: {}, sampling: {} } },
    );
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
      action: "accept",
      content: { said: params.message },
    }));
    client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
      model: "test",
      role: "assistant",
      content: { type: "text", text: (params.messages[0]!.content as { text: string }).text },
    }));
    const reconnectionOptions = {
      initialReconnectionDelay: 20,
      maxReconnectionDelay: 200,
      reconnectionDelayGrowFactor: 1.5,
      maxRetries: 10_000,
    };
    const transport = new StreamableHTTPClientTransport(new URL(fleet[0]!.url), {
      reconnectionOptions,
      fetch: roam(fleet, outcome),
    });
    await client.connect(transport);
    onTestFinished(() => client.close());
    const roaming = new RoamingClient(client, outcome, randomUUID());
    await client.subscribeResource({ uri: `note:///${roaming.#note}` });
    return roaming;
  }

  get id(): string {
    return (this.client.transport as StreamableHTTPClientTransport).sessionId!;
  }

  /** Does one thing, and notes what came of it. */
  async exchange(name: string, round: number): Promise<void> {
    const tool = ["echo", "ask", "sample", "steps", "wait", "touch"][round % 6]!;
    try {
      if (tool === "wait") await this.#cancelOne(name);
      else if (tool === "touch") await this.#touch(name);
      else await this.#call(tool, name);
    } catch (error) {
      this.#outcome.note(error, `${tool} ${name}`);
    }
  }

  async #call(tool: string, name: string): Promise<void> {
    const reports: Progress[] = [];
    const said = await this.#say(tool, name, (report) => reports.push(report));
    const expected = Array.from({ length: tool === "steps" ? STEPS : 0 }, (_, at) => ({
      progress: at + 1,
      message: name,
    }));
    if (said === name && JSON.stringify(reports) === JSON.stringify(expected)) this.#outcome.done++;
    else this.#outcome.wrong.push(`${tool} ${name}: ${said} ${JSON.stringify(reports)}`);
  }

  async #say(tool: string, name: string, onprogress?: (report: Progress) => void): Promise<string> {
    const options = { timeout: ANSWER_MS, ...(onprogress && { onprogress }) };
    const params = { name: tool, arguments: { name } };
    const { content } = await this.client.callTool(params, undefined, options);
    return (content as { text: string }[])[0]!.text;
  }

  /** Begins a call, gives it up once it runs, and looks whether its gateway has heard. */
  async #cancelOne(name: string): Promise<void> {
    const abort = new AbortController();
    const { promise: beginning, resolve: begun } = deferred<number>();
    const options = {
      timeout: ANSWER_MS,
      signal: abort.signal,
      onprogress: ({ message }: Progress) => begun(Number(message)),
    };
    const call = this.client.callTool({ name: "wait", arguments: { name } }, undefined, options);
    const pid = await Promise.race([beginning, call.then(() => 0)]);
    if (pid === 0) return void this.#outcome.wrong.push(`${name} ended by itself.`);
    abort.abort();
    await call.catch(() => {});
    if (await this.#isCancelled(name, pid)) this.#outcome.done++;
    else this.#outcome.noteUncancelled(name, pid);
  }

  /** Has its resource change, which the gateway with its stream tells, or the next one. */
  async #touch(name: string): Promise<void> {
    const before = this.#updates;
    await this.#say("touch", this.#note);
    const isTold = await until(() => this.#updates > before, ANSWER_MS).catch(() => false);
    if (isTold) this.#outcome.done++;
    else this.#outcome.wrong.push(`${name} was not told of its resource.`);
  }

  async #isCancelled(name: string, pid: number): Promise<boolean> {
    const end = performance.now() + ANSWER_MS;
    while (performance.now() < end && !this.#outcome.killed.has(pid)) {
      const said = await this.#say("cancelled", name).catch(() => "");
      if (said === "true") return true;
    }
    return false;
  }
}
