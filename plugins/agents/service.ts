import type { AgentEvent } from "propylon/plugins/progress";

export type { AgentEvent };
import {
  defineService,
  type Call,
  type Json,
  type Peer,
  type Principal,
  type ToolReturn,
} from "propylon";
import type { ChatMessage, ModelPreflight, ChatPart } from "./model.ts";

declare module "propylon/kit" {
  interface CallSources {
    /** An agent that is hosted here. */
    agent: true;
  }
}

/** An agent as others see it: for the registry, health, and lists. */
export interface AgentInfo {
  /** Key in the config, and name of its tool. */
  readonly name: string;
  /** What the registry calls it; default `<gateway name>-<agent>`, or as configured. */
  readonly id: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly version?: string | undefined;
  readonly icons?: readonly Readonly<Record<string, unknown>>[] | undefined;
  /** Provider and model, for agents driven by one. */
  readonly model?: string | undefined;
  /** As configured; published only then. */
  readonly capabilities?: Readonly<Record<string, unknown>> | undefined;
  /** Servers whose tools it uses, other agents included. */
  readonly servers: readonly string[];
  /** URL of its MCP endpoint, once a listener is open or planned. */
  readonly url: string;
  /** Why it cannot process requests, as a sentence; `undefined` = it can. */
  readonly problem?: string | undefined;
  /** ISO 8601: when its definition last changed. */
  readonly updatedAt: string;
  /** What its registry entry does differently: `schema: false` leaves `$schema` out, `updatedAt` replaces the computed one. */
  readonly registry?:
    | { readonly schema?: boolean | undefined; readonly updatedAt?: string | undefined }
    | undefined;
}

/** A tool that exists for one run only, e.g. `agent_complete` of the lifecycle plugin. */
export interface RunTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Returns what the model is told. */
  run(args: Readonly<Record<string, unknown>>): string | Promise<string>;
}

/** How to run an agent. */
export interface RunOptions {
  /** Ends the run at once, requests in flight included. */
  readonly signal: AbortSignal;
  /** On whose behalf; appears in the log. The calls themselves are made as the agent. */
  readonly principal: Principal;
  /** Asked before every model request; `false` ends the run before it (the one in flight ends normally). */
  mayContinue?(): boolean;
  /** Text put behind the agent's own instructions. */
  readonly instructions?: string;
  readonly tools?: readonly RunTool[];
  onEvent?(event: AgentEvent): void;
  /** Whether `text` events come while the model writes; default: one for each whole text. */
  readonly deltas?: boolean;
  /**
   * `_meta` of the tool calls that the run makes: the trace context of the caller who started it (`traceOf(call.meta ?? {})`), so
   * that a trace goes through the agent. Not the whole `_meta` of a call: what else a client writes there is not for other servers.
   * Default: what the OpenTelemetry context of the moment says, if there is an SDK; `{}` = a trace of its own.
   */
  readonly meta?: Json | undefined;
  /** Who answers what the tools of the run ask (MCP elicitation, sampling, roots). Default: nobody. */
  readonly peer?: Peer | undefined;
}

/** How a run ended. */
export interface RunResult {
  /** What the agent said last. */
  readonly parts: readonly ChatPart[];
  /** The texts of {@link parts}, joined. */
  readonly text: string;
  /** The whole conversation, with what was added. */
  readonly messages: readonly ChatMessage[];
  /** `finished`: the agent was done; `prevented`: `mayContinue` refused; else the budget that ran out. */
  readonly end: "finished" | "prevented" | "turns" | "calls" | "tokens" | "time";
  readonly turns: number;
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
}

/**
 * A tool that every agent's endpoint has beside the agent itself, answered in code: no model is asked. How the health plugin
 * brings `get_health`: it injects the agents, so they cannot inject it.
 */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema, listed as it is. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /**
   * @param agent name of the agent at whose endpoint it was called
   * @returns a text is exactly one text block; a throw becomes an `isError` result as for any tool
   */
  run(agent: string, call: Call): ToolReturn | Promise<ToolReturn>;
}

/** The agents of this gateway. */
export interface AgentsService {
  /** In the order of the config. */
  list(): readonly AgentInfo[];
  get(name: string): AgentInfo | undefined;
  /**
   * Runs an agent on a conversation to its end.
   * @throws {GatewayError} `not_found`; `upstream_error` when its model fails; `cancelled`
   */
  run(name: string, messages: readonly ChatMessage[], options: RunOptions): Promise<RunResult>;
  /**
   * Whether the model of an agent would take a request, without spending tokens; `undefined` for agents without one.
   * @throws {GatewayError} `not_found`
   */
  preflight(name: string, signal: AbortSignal): Promise<ModelPreflight | undefined>;
  /**
   * Puts a tool on every agent's endpoint, from now until the returned function is called. Call it in `setup` and hand what it
   * returns to `onDispose`: `gateway.onDispose(agents.offer({ ...GET_HEALTH, run: (agent) => ... }))`. Of two tools of one name
   * the later one counts, so that a reload hands over without a gap.
   */
  offer(tool: OfferedTool): () => void;
}

/** Service token of the agents plugin. */
export const Agents = defineService<AgentsService>("agents");
