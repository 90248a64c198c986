import { importOptional, isObject } from "propylon/kit";
import type { LanguageModel } from "ai";
import type { fetch as UndiciFetch, RequestInit } from "undici";
import type { ProviderOptions } from "./options.ts";
import { readAnswers } from "./answers/answer-body.ts";
import { ChatAnswer } from "./answers/chat-answer.ts";
import { MessageAnswer } from "./answers/message-answer.ts";

/** The `ai` package. */
export type ModelSdk = typeof import("ai");

/** Most bytes of one answer: no model writes as much, and a broken server must not fill the memory. */
const MAX_ANSWER = 64 * 1_024 * 1_024;

/** Imports the `ai` package at first use: most gateways have no agents. */
export async function loadModelSdk(): Promise<ModelSdk> {
  const sdk = await load("ai", () => import("ai"));
  // It would write advice about settings to the console, which belongs to the gateway's log.
  globalThis.AI_SDK_LOG_WARNINGS ??= false;
  return sdk;
}

/** A model of a provider, through the package of its type. */
export async function openModel(
  name: string,
  options: ProviderOptions,
  model: string,
): Promise<LanguageModel> {
  const { baseUrl: baseURL, headers } = options;
  const fetch = readAnswers(await openFetch(), (request) =>
    options.type === "anthropic" ? new MessageAnswer() : new ChatAnswer(() => toolNamesIn(request)),
  );
  const shared = { baseURL, name, headers, fetch };
  if (options.type === "anthropic") {
    const { createAnthropic } = await load("@ai-sdk/anthropic", () => import("@ai-sdk/anthropic"));
    return createAnthropic({ ...shared, apiKey: options.apiKey })(model);
  }
  if (options.type === "openai") {
    const { createOpenAI } = await load("@ai-sdk/openai", () => import("@ai-sdk/openai"));
    return createOpenAI({ ...shared, apiKey: options.apiKey }).chat(model);
  }
  const { createOpenAICompatible } = await load(
    "@ai-sdk/openai-compatible",
    () => import("@ai-sdk/openai-compatible"),
  );
  const key = options.apiKey === undefined ? {} : { apiKey: options.apiKey };
  return createOpenAICompatible({ ...shared, ...key, includeUsage: true })(model);
}

/**
 * Imports an optional package.
 * @throws {GatewayError} `invalid` when it is not installed; names the command that installs it
 */
export function load<T>(name: string, get: () => Promise<T>): Promise<T> {
  const packages = name === "ai" ? [name] : ["ai", name];
  return importOptional(get, `Agents with a model need the package "${name}".`, packages);
}

/** fetch as providers are asked with. */
export type ModelFetch = typeof globalThis.fetch;

let opened: Promise<ModelFetch> | undefined;

/** One fetch for all providers; its connections are pooled, and idle ones do not keep the process alive. */
export function openFetch(): Promise<ModelFetch> {
  return (opened ??= createFetch());
}

async function createFetch(): Promise<ModelFetch> {
  const { Agent, fetch } = await import("undici");
  // Node's own gives up after five minutes of silence, which is short for a model that thinks; our timeout bounds it.
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0, maxResponseSize: MAX_ANSWER });
  const ask: typeof UndiciFetch = (url, init) =>
    // A redirect would carry the key in x-api-key to another host.
    fetch(url, { ...(init as RequestInit), dispatcher, redirect: "manual" });
  return ask as unknown as ModelFetch;
}

/** Names of the tools in a request for a chat completion. Read when an answer asks for them, and few do. */
function toolNamesIn(request: unknown): readonly string[] {
  const body: unknown = typeof request === "string" ? JSON.parse(request) : undefined;
  const tools: unknown = isObject(body) ? body["tools"] : undefined;
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool: unknown) => {
    const made = isObject(tool) ? tool["function"] : undefined;
    return isObject(made) && typeof made["name"] === "string" ? [made["name"]] : [];
  });
}
