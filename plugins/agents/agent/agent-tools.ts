import {
  GatewayError,
  type Answer,
  type Json,
  type Peer,
  type PluginContext,
  type Identity,
  type Principal,
  type Progress,
  type Tool,
} from "propylon";
import { createPrincipal, matchesWildcard } from "propylon/kit";
import type { AgentOptions } from "../options.ts";

/** A tool that an agent may use, and whose it is. */
export interface UsableTool {
  readonly server: string;
  readonly tool: Tool;
}

/** The parts of the gateway that agents work with. */
export type GatewayAccess = Pick<PluginContext, "info" | "call">;

/** One tool call of an agent. */
export interface AgentToolCall {
  readonly server: string;
  readonly tool: string;
  readonly args: Json;
  readonly signal: AbortSignal;
  /** Agents that led here, the caller included. */
  readonly via: readonly string[];
  /** Trace context of the run. */
  readonly meta: Json | undefined;
  /** Who answers what the tool asks; default: nobody. */
  readonly peer?: Peer | undefined;
  readonly progress?: ((report: Progress) => void) | undefined;
}

/** What one agent may use: the tools of its servers, and other agents. Asked again for each run, since tools come and go. */
export class AgentTools {
  readonly #name: string;
  readonly #options: Pick<AgentOptions, "servers" | "agents" | "tools">;
  readonly #gateway: GatewayAccess;
  /** Name of the tool of another agent. */
  readonly #toolOf: (agent: string) => string | undefined;

  constructor(
    name: string,
    options: Pick<AgentOptions, "servers" | "agents" | "tools">,
    gateway: GatewayAccess,
    toolOf: (agent: string) => string | undefined,
  ) {
    this.#name = name;
    this.#options = options;
    this.#gateway = gateway;
    this.#toolOf = toolOf;
  }

  /** The tools that are available now: of servers that are there, neither left out nor disabled. */
  tools(): UsableTool[] {
    const { servers, agents } = this.#options;
    return [...servers, ...agents].flatMap((server) => {
      const tools = this.#gateway.info.servers.get(server)?.catalogue.tools ?? [];
      return tools
        .filter((tool) => this.may(server, tool.name) && this.#isShown(server, tool.name))
        .map((tool) => ({ server, tool }));
    });
  }

  /** Whether the agent may use a tool, as far as its definition goes. */
  may(server: string, tool: string): boolean {
    // Of another agent it uses the agent, not what else is on its endpoint.
    if (this.#options.agents.includes(server)) return tool === this.#toolOf(server);
    if (!this.#options.servers.includes(server)) return false;
    const { include, exclude } = this.#options.tools;
    const among = (patterns: readonly string[]): boolean =>
      patterns.some((pattern) =>
        matchesWildcard(pattern, pattern.includes("/") ? `${server}/${tool}` : tool),
      );
    return (include === undefined || among(include)) && !(exclude !== undefined && among(exclude));
  }

  /**
   * Calls a tool as the agent, through the pipeline like everyone: a disabled tool is refused there.
   * @throws {GatewayError} `forbidden` for a tool that is not the agent's to use; whatever the pipeline decides
   */
  async call({
    server,
    tool,
    args,
    signal,
    via,
    meta,
    peer,
    progress,
  }: AgentToolCall): Promise<Answer> {
    if (!this.may(server, tool))
      throw new GatewayError(
        "forbidden",
        `The agent "${this.#name}" may not use ${server}/${tool}.`,
        {
          hint: `Add it to servers, agents or tools of agents.${this.#name}.`,
        },
      );
    return this.#gateway.call({
      server,
      name: tool,
      args,
      source: "agent",
      principal: this.#principal(via),
      signal,
      meta,
      ...(peer && { peer }),
      ...(progress && { progress }),
    });
  }

  #isShown(server: string, name: string): boolean {
    const principal = createPrincipal(this.#principal([]));
    return this.#gateway.info.shows({ server, kind: "tool", name }, principal);
  }

  #principal(via: readonly string[]): Identity {
    return { id: `agent:${this.#name}`, kind: "agent", roles: CALLER, claims: { via } };
  }
}

const CALLER: Principal["roles"] = new Set(["caller"]);

/** The agents that led to a call, outermost first; empty where no agent made it. */
export function lineage({ kind, claims }: Principal): readonly string[] {
  const via = claims?.["via"];
  return kind === "agent" && Array.isArray(via) ? (via as string[]) : [];
}
