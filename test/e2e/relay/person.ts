import type { Json } from "../../../core/types.ts";
import type { Heard } from "./heard.ts";

/** How a call is made. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Ask for progress. */
  readonly progress?: boolean;
}

/** A real client of either era, reduced to what the relay matrix needs. */
export interface RelayClient {
  readonly heard: Heard;
  /** Calls a tool, wanting logs of every level. */
  call(name: string, args: Json, options?: CallOptions): Promise<Json>;
  listTools(): Promise<readonly string[]>;
  /** Resolves once list changes, and updates of these resources, are sure to arrive. */
  listen(uris: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** What the clients of both eras can do. */
export const CAPABILITIES = { sampling: {}, elicitation: {} };

/** The answer of a client's model. */
export function sampled(name: string): {
  role: "assistant";
  content: { type: "text"; text: string };
  model: string;
} {
  return { role: "assistant", content: { type: "text", text: `${name} says` }, model: "fixture" };
}

/** The answer of a client's user to any of the fixture's forms. */
export function filled(name: string): { action: "accept"; content: Record<string, string> } {
  return {
    action: "accept",
    content: { answer: `${name} fills`, username: name, email: `${name}@example.org` },
  };
}

/** The text of a sampling request. */
export function promptOf(params: unknown): unknown {
  const { messages } = params as { messages: { content: { text?: string } }[] };
  return messages[0]?.content.text;
}
