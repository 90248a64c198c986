import { GatewayError, type Call, type Json, type Tool, type ToolReturn } from "propylon";
import { traceOf } from "propylon/kit";
import type { Logger } from "pino";
import type { ProgressService } from "propylon/plugins/progress";
import { inputSchema, toContent, toConversation } from "./conversation.ts";
import type { ChatMessage } from "../model.ts";
import type { AgentOptions } from "../options.ts";
import type { Desk } from "./server.ts";
import type { RunOptions, RunResult } from "../service.ts";
import { traceRun } from "../trace.ts";
import { lineage } from "./agent-tools.ts";

/** Drives an agent: its model, its code, or a server elsewhere. */
export interface Driver {
  /** @param via agents that led here, this one last */
  run(
    messages: readonly ChatMessage[],
    options: RunOptions,
    via: readonly string[],
  ): Promise<RunResult>;
}

/** What an agent is made of. */
export interface AgentParts {
  readonly name: string;
  readonly options: AgentOptions;
  /** Longest run in milliseconds. */
  readonly time: number;
  /** Maximum agents that may call each other in a row. */
  readonly depth: number;
  /** Or why there is none, as a sentence. */
  readonly driver: Driver | string;
  /** What else keeps it from working just now, as a sentence. */
  obstacle(): string | undefined;
  readonly progress: ProgressService | undefined;
  readonly log: Logger;
}

type Icon = Readonly<Record<string, unknown>>;

/** Time beyond that of a run, in milliseconds, so that a run that used up its time can still say so. */
const MARGIN_MS = 5_000;

/** One agent: stateless, so that nothing gets from one conversation into another. */
export class Agent implements Desk {
  readonly name: string;
  readonly options: AgentOptions;
  readonly tool: Tool | undefined;
  readonly timeout: number;
  readonly #parts: AgentParts;

  constructor(parts: AgentParts) {
    this.name = parts.name;
    this.options = parts.options;
    this.timeout = parts.time + MARGIN_MS;
    this.#parts = parts;
    this.tool = parts.options.server === undefined ? describeTool(parts) : undefined;
  }

  /** Why it cannot process requests, as a sentence. */
  get problem(): string | undefined {
    const { driver } = this.#parts;
    return typeof driver === "string" ? driver : this.#parts.obstacle();
  }

  /** Answers one call of its tool. */
  async answer(call: Call): Promise<ToolReturn> {
    const { name, progress } = this.#parts;
    const messages = toConversation(name, this.#hasVision, call.args);
    const reporter = progress?.reporterFor(call, name);
    const result = await this.run(messages, {
      signal: call.signal,
      principal: call.principal,
      meta: traceOf(call.meta ?? {}),
      ...(reporter && {
        onEvent: (event) => reporter.report(event),
        deltas: reporter.deltas,
      }),
    });
    return toToolResult(result);
  }

  /** See `AgentsService.run`. */
  async run(messages: readonly ChatMessage[], options: RunOptions): Promise<RunResult> {
    const { name, driver, depth, log } = this.#parts;
    const via = [...lineage(options.principal), name];
    const { problem } = this;
    if (typeof driver === "string" || problem !== undefined)
      throw new GatewayError("upstream_error", problem!);
    if (via.length > depth)
      throw new GatewayError(
        "forbidden",
        `Agents called each other ${via.length} deep: ${via.join(" > ")}.`,
        {
          hint: "Let fewer agents use each other, or raise plugins.agents.maxDepth.",
        },
      );
    const started = performance.now();
    const result = await traceRun(name, options, (traced) => driver.run(messages, traced, via));
    const { end, turns, usage } = result;
    const ms = Math.round(performance.now() - started);
    log.info({ agent: name, for: options.principal.ref, end, turns, ...usage, ms }, "agent run");
    return result;
  }

  get #hasVision(): boolean {
    return this.options.capabilities?.vision === true;
  }
}

function describeTool({ name, options }: AgentParts): Tool {
  const { title, description, icons, capabilities, toolName } = options;
  return {
    name: toolName ?? name,
    ...(title !== undefined && { title }),
    description: description ?? `Asks the agent "${title ?? name}".`,
    inputSchema: inputSchema(capabilities?.vision === true),
    ...(icons && { icons: icons.map(toToolIcon) }),
  };
}

/** Registries take sizes as a text such as "any"; MCP wants a list, and one icon without it costs a client the whole list of tools. */
function toToolIcon({ sizes, ...icon }: Icon): Icon {
  const all: unknown = typeof sizes === "string" ? sizes.split(/\s+/).filter(Boolean) : sizes;
  const isList =
    Array.isArray(all) && all.length > 0 && all.every((one) => typeof one === "string");
  return isList ? { ...icon, sizes: all } : icon;
}

/** A run that a budget ended says so itself, and is marked: half an answer must not pass for a whole one. */
function toToolResult({ parts, end }: RunResult): Json {
  const content = toContent(parts);
  return {
    content: content.length > 0 ? content : [{ type: "text", text: "" }],
    ...(end !== "finished" && { isError: true }),
  };
}
