import type { Json } from "propylon";
import type { ChatMessage, ChatPart } from "./model.ts";

/** An image of a conversation. */
export type ImagePart = Extract<ChatPart, { readonly type: "image" }>;

/** What a tool answered an agent. */
export interface ToolOutcome {
  /** The texts of its content, joined by line breaks. */
  readonly text: string;
  readonly images: readonly ImagePart[];
  /** `structuredContent`, where the tool has any. */
  readonly data: Json | undefined;
}

/** One run of an agent written in TypeScript: what was asked, and what it may use. */
export interface AgentRun {
  readonly message: string;
  readonly images: readonly ImagePart[];
  /** What was said before; the message itself is not in it. */
  readonly history: readonly ChatMessage[];
  /**
   * Asks a model once and returns its text. Each request counts as a turn.
   * @param options.model provider and model, e.g. `openai/gpt-5`; default: the agent's own
   * @param options.system instructions ahead of the conversation
   * @throws {GatewayError} `invalid` when there is no such model; `upstream_error` when it fails or a budget is used up
   */
  ask(
    prompt: string | readonly ChatMessage[],
    options?: { readonly model?: string; readonly system?: string },
  ): Promise<string>;
  /**
   * Calls a tool of one of the agent's servers, or another agent (server and tool are both its name), as the agent.
   * @throws {GatewayError} `forbidden` for what the agent may not use; `upstream_error` when the tool reports an error
   */
  call(server: string, tool: string, args?: Json): Promise<ToolOutcome>;
  /** Says what it is doing; does nothing when nobody listens. */
  progress(message: string): void;
  /** Ends with the run: the client went away, or the time is over. */
  readonly signal: AbortSignal;
}

/** An agent written in TypeScript; see {@link defineAgent}. */
export interface AgentCode {
  /** Answers one request: text, or parts where there are images. Keeps no state between runs. */
  run(run: AgentRun): string | readonly ChatPart[] | Promise<string | readonly ChatPart[]>;
}

/**
 * Types an agent that is code. Its file is named by `file` of the agent in the config, which says everything else.
 *
 * @example
 * export default defineAgent({
 *   async run({ message, call, ask }) {
 *     const { text } = await call("memory", "search_nodes", { query: message });
 *     return ask(`Answer "${message}" from this:\n${text}`);
 *   },
 * });
 */
export function defineAgent(code: AgentCode): AgentCode {
  return code;
}

/** Whether a value is what {@link defineAgent} returns. */
export function isAgentCode(value: unknown): value is AgentCode {
  return (
    typeof value === "object" && value !== null && "run" in value && typeof value.run === "function"
  );
}
