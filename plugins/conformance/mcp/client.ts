import type { Heard } from "./heard.ts";

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** Which generation of MCP a client speaks: up to 2025-11-25 with sessions, or from 2026-07-28 without. */
export type Era = "legacy" | "modern";

/** What a list is of. */
export type ListName = "tools" | "resources" | "resourceTemplates" | "prompts";

/** How a call is made. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Ask for progress. */
  readonly progress?: boolean;
}

/** A real client of either era, reduced to what the kit needs. Its requests reject with the server's JSON-RPC error. */
export interface KitClient {
  readonly heard: Heard;
  /** Name that the server says it has. */
  readonly server: string | undefined;
  /** Of the server. */
  readonly capabilities: Json;
  /** Calls a tool, wanting logs of every level. */
  call(name: string, args: Json, options?: CallOptions): Promise<Json>;
  /** All pages of a list. */
  list(name: ListName): Promise<readonly Json[]>;
  read(uri: string): Promise<Json>;
  prompt(name: string, args: Readonly<Record<string, string>>): Promise<Json>;
  complete(prompt: string, argument: string, value: string): Promise<Json>;
  /** Sends a request that MCP does not know. */
  unknown(): Promise<unknown>;
  /** Resolves once list changes, and updates of these resources, are sure to arrive. */
  listen(uris: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** What the client says it is, and can do. */
export const CLIENT = { name: "propylon-conformance", version: "1.0.0" };
/** What the kit's clients let servers ask of them. */
export const CAPABILITIES = { sampling: {}, elicitation: {} };

/** What the model and the user behind a client answer. */
export interface Person {
  readonly sampled: {
    readonly role: "assistant";
    readonly content: { readonly type: "text"; readonly text: string };
    readonly model: string;
  };
  readonly filled: { readonly action: "accept"; readonly content: Record<string, string> };
}

/** Whom the fixture asks. */
export const PERSON: Person = {
  sampled: {
    role: "assistant",
    content: { type: "text", text: "the model says" },
    model: "conformance",
  },
  filled: { action: "accept", content: { answer: "the user says" } },
};

/** The text of a sampling request. */
export function promptOf(params: unknown): unknown {
  const { messages } = params as { messages: { content: { text?: string } }[] };
  return messages[0]?.content.text;
}
