import { GatewayError, type Answer, type Json, type Tool } from "propylon";
import type { Driver } from "./agent.ts";
import { chatText } from "./conversation.ts";
import { shownParts } from "../loop/outcome.ts";
import type { ChatMessage, ChatPart } from "../model.ts";
import type { RunOptions, RunResult } from "../service.ts";
import type { GatewayAccess } from "./agent-tools.ts";
import { relayedFrom } from "../relayed.ts";

/** An agent that is an MCP server elsewhere: a run is one call of its tool that takes a message. */
export class RemoteDriver implements Driver {
  readonly #agent: string;
  readonly #server: string;
  readonly #toolName: string | undefined;
  readonly #gateway: GatewayAccess;

  constructor(agent: string, server: string, toolName: string | undefined, gateway: GatewayAccess) {
    this.#agent = agent;
    this.#server = server;
    this.#toolName = toolName;
    this.#gateway = gateway;
  }

  async run(
    messages: readonly ChatMessage[],
    options: RunOptions,
    via: readonly string[],
  ): Promise<RunResult> {
    const tool = this.#tool();
    const answer = await this.#gateway.call({
      server: this.#server,
      name: tool.name,
      args: toArguments(messages, tool),
      source: "agent",
      principal: {
        id: `agent:${this.#agent}`,
        kind: "agent",
        roles: new Set(["caller"]),
        claims: { via },
      },
      signal: options.signal,
      meta: options.meta,
      ...(options.peer && { peer: options.peer }),
      progress: (report) => options.onEvent?.(relayedFrom(this.#server, tool.name, report)),
    });
    const parts = chatPartsOf(answer, this.#agent);
    return {
      parts,
      text: chatText(parts),
      messages: [...messages, { role: "assistant", parts }],
      end: "finished",
      turns: 1,
      usage: { inputTokens: 0, outputTokens: 0 },
    };
  }

  /** The one configured, else the one named after the agent, else the only one that takes a message. */
  #tool(): Tool {
    const tools = this.#gateway.info.servers.get(this.#server)?.catalogue.tools ?? [];
    const wanted = this.#toolName ?? this.#agent;
    const takers = tools.filter(({ inputSchema }) => hasMessage(inputSchema));
    const found =
      tools.find(({ name }) => name === wanted) ?? (takers.length === 1 ? takers[0] : undefined);
    if (found) return found;
    throw new GatewayError(
      "invalid",
      `The server of the agent "${this.#agent}" has no tool that takes a message.`,
      {
        hint: `Name one in agents.${this.#agent}.toolName.`,
      },
    );
  }
}

function hasMessage({ properties }: Json): boolean {
  return typeof properties === "object" && properties !== null && "message" in properties;
}

/** The last message as the tool takes it; what was said before and images only where it knows them. */
function toArguments(messages: readonly ChatMessage[], { inputSchema }: Tool): Json {
  const known = (inputSchema["properties"] ?? {}) as Json;
  const last = messages.at(-1);
  const history = messages
    .slice(0, -1)
    .filter(({ role }) => role !== "tool")
    .map(({ role, parts }) => ({ role, content: chatText(parts) }));
  const images = (last?.parts ?? []).flatMap((part) =>
    part.type === "image" ? [{ data: part.data, mimeType: part.mimeType }] : [],
  );
  return {
    message: chatText(last?.parts ?? []),
    ...("history" in known && history.length > 0 && { history }),
    ...("images" in known && images.length > 0 && { images }),
  };
}

/** @throws {GatewayError} `upstream_error` with what a tool said of its failure */
export function chatPartsOf(answer: Answer, whose: string): readonly ChatPart[] {
  if (answer.isRpcError)
    throw new GatewayError("upstream_error", `${whose} refused: ${answer.error!.message}`);
  const parts = shownParts(answer);
  if (answer.isError)
    throw new GatewayError(
      "upstream_error",
      chatText(parts) || `${whose} failed and did not say why.`,
    );
  return parts;
}
