import { pino } from "pino";
import { createPrincipal } from "propylon/kit";
import { Store } from "propylon/store";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { definePlugin, GatewayError, type AnyPlugin } from "../../../core/index.ts";
import { setupGateway, type GatewaySetup, type TestGateway } from "../../../core/testing/index.ts";
import {
  Agents,
  type AgentInfo,
  type AgentsService,
  type RunOptions,
  type RunResult,
} from "../../../plugins/agents/service.ts";
import { type ChatMessage } from "../../../plugins/agents/model.ts";
import { Lifecycle } from "../../../plugins/lifecycle/lifecycle.ts";
import { optionsSchema } from "../../../plugins/lifecycle/options.ts";
import type { KeptStore } from "../../fixtures/kept-store.ts";
import lifecycle from "../../../plugins/lifecycle/index.ts";
import payloads from "../../../plugins/payloads/index.ts";

/** What a scripted model does with one request. */
export interface Reply {
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly args: Record<string, unknown> }[];
}

/** One request to the scripted model. */
export interface Asked {
  readonly agent: string;
  readonly messages: readonly ChatMessage[];
  readonly options: RunOptions;
  /** The agent_id that its instructions name. */
  readonly id: string;
}

/** Agents whose model is a function: what the agents plugin promises, without a provider. */
export class ScriptedAgents implements AgentsService {
  /** Requests that were made. */
  readonly asked: Asked[] = [];
  /** What the tools of the run answered. */
  readonly answers: string[] = [];
  readonly #names: readonly string[];
  #script: (asked: Asked) => Reply | Promise<Reply>;

  constructor(names: readonly string[], script: (asked: Asked) => Reply | Promise<Reply>) {
    this.#names = names;
    this.#script = script;
  }

  list(): readonly AgentInfo[] {
    return this.#names.map((name) => ({
      name,
      id: `gateway-${name}`,
      servers: [],
      url: `http://127.0.0.1/agents/${name}`,
      updatedAt: "2026-01-01T00:00:00.000Z",
      ...(!name.startsWith("code") && { model: "scripted/one" }),
    }));
  }

  get(name: string): AgentInfo | undefined {
    return this.list().find((agent) => agent.name === name);
  }

  offer(): () => void {
    return () => {};
  }

  preflight(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async run(agent: string, given: readonly ChatMessage[], options: RunOptions): Promise<RunResult> {
    const messages = [...given];
    const id = /agent_id is ([\w-]+)/.exec(options.instructions ?? "")![1]!;
    for (let turns = 1; ; turns++) {
      if (options.mayContinue?.() === false) return resultOf("prevented", messages, turns);
      options.onEvent?.({ type: "step", step: turns, kind: "llm" });
      const asked = { agent, messages: [...messages], options, id };
      this.asked.push(asked);
      const { text = "", calls = [] } = await unlessAborted(this.#script(asked), options.signal);
      messages.push({ role: "assistant", parts: [{ type: "text", text }] });
      if (text) options.onEvent?.({ type: "text", text, delta: false });
      if (calls.length === 0) return resultOf("finished", messages, turns, text);
      for (const { name, args } of calls) {
        const tool = options.tools!.find((each) => each.name === name)!;
        options.onEvent?.({ type: "tool", server: "", tool: name, state: "started" });
        this.answers.push(
          await Promise.resolve(tool.run(args)).catch((error: Error) => `! ${error.message}`),
        );
        options.onEvent?.({ type: "tool", server: "", tool: name, state: "completed" });
      }
    }
  }

  get plugin(): AnyPlugin {
    return definePlugin({ name: "agents", provides: Agents, setup: () => this });
  }
}

function resultOf(
  end: RunResult["end"],
  messages: readonly ChatMessage[],
  turns: number,
  text = "",
): RunResult {
  return { parts: [], text, messages, end, turns, usage: { inputTokens: 0, outputTokens: 0 } };
}

function unlessAborted<T>(work: T | Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(new GatewayError("cancelled", "Cancelled.")));
    Promise.resolve(work).then(resolve, reject);
  });
}

/** Never answers. */
export const silent = (): Promise<Reply> => new Promise(() => {});

/** A model that completes its contract with its first turn. */
export const completes =
  (summary = "done", payload?: string) =>
  ({ id }: Asked): Reply => ({
    calls: [
      {
        name: "agent_complete",
        args: { agent_id: id, summary, ...(payload !== undefined && { payload }) },
      },
    ],
  });

/** A gateway with the plugin, and agents whose model is a function. */
export async function start(
  script: (asked: Asked) => Reply | Promise<Reply> = silent,
  options: Record<string, unknown> = {},
  setup: GatewaySetup & {
    names?: readonly string[];
    without?: boolean;
    limits?: Record<string, unknown>;
    kept?: KeptStore;
  } = {},
): Promise<TestGateway & { agents: ScriptedAgents; url: string }> {
  const { names = ["worker"], without = false, limits = {}, kept, ...rest } = setup;
  const agents = new ScriptedAgents(names, script);
  const started = await setupGateway({
    ...rest,
    ...(kept && { config: { ...rest.config, store: "kept" } }),
    plugins: [
      ...(kept ? [kept.plugin] : []),
      agents.plugin,
      ...(without ? [] : [[payloads, limits] as const]),
      [lifecycle, options],
    ],
  });
  return { ...started, agents };
}

/** Status as the tools tell it. */
export type Told = Record<string, string & number & boolean>;

/** Calls a tool and reads its structured result; a failure is thrown with its text. */
export async function call(client: Client, name: string, args: object): Promise<Told> {
  const result = await client.callTool({ name, arguments: { ...args } });
  const [{ text }] = result.content as [{ text: string }];
  if (result.isError === true) throw new Error(text);
  return result.structuredContent as Told;
}

/** The list that agent_status answers, from its text. */
export async function statuses(client: Client, ids: readonly string[]): Promise<Told[]> {
  const result = await client.callTool({ name: "agent_status", arguments: { agent_ids: ids } });
  const [{ text }] = result.content as [{ text: string }];
  return JSON.parse(text) as Told[];
}

export async function statusOf(client: Client, id: string): Promise<Told> {
  return (await statuses(client, [id]))[0]!;
}

export async function startOne(client: Client, contract = "work"): Promise<string> {
  return (await call(client, "agent_start", { contract }))["agent_id"]!;
}

/** How long to wait for what happens by itself; a busy machine takes its time. */
export const SOON = { timeout: 10_000 };

export const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Options of the agents plugin for agents behind a model server. */
export const optionsOf = (url: string) => ({
  providers: { scripted: { type: "openai-compatible", baseUrl: url } },
  model: "scripted/scripted",
  agents: { worker: { instructions: "You count." } },
});

/** The id that the agent was told. */
export const idIn = (body: Record<string, unknown>): string =>
  /agent_id is ([0-9a-f-]{36})/.exec(JSON.stringify(body))![1]!;

export const ALICE = createPrincipal({ id: "alice", kind: "key", roles: new Set(["caller"]) });

/** A replica with one place for agents. */
export class Replica {
  readonly agents = new ScriptedAgents(["worker"], silent);
  readonly store: Store;
  readonly lifecycle: Lifecycle;

  constructor(store: Store) {
    this.store = store;
    this.lifecycle = new Lifecycle(store);
  }

  static async start(kept: KeptStore): Promise<Replica> {
    let store: Store | undefined;
    const holder = definePlugin({
      name: "lifecycle",
      inject: { store: Store },
      setup: ({ services }) => void (store = services.store),
    });
    const config = { store: "kept" } as const;
    await setupGateway({ client: false, plugins: [kept.plugin, holder], config });
    const replica = new Replica(store!);
    replica.lifecycle.adopt({
      options: optionsSchema.parse({ concurrency: 1 }),
      agents: replica.agents,
      takers: ["worker"],
      payloads: undefined,
      log: pino({ level: "silent" }),
    });
    await replica.lifecycle.open();
    return replica;
  }

  async begin(contract = "work", owner = ALICE): Promise<ReturnType<Lifecycle["create"]>> {
    const request = { contract, name: "worker", owner, start: true };
    const agent = this.lifecycle.create(request);
    await agent.stored;
    return agent;
  }

  get ran(): readonly string[] {
    return this.agents.asked.map(({ id }) => id);
  }

  ask(id: string, verb: "look" | "cancel" = "look", asker = ALICE) {
    return this.lifecycle.replicas!.ask(id, asker, verb);
  }
}
