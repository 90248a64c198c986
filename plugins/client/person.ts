import { GatewayError, type Json } from "propylon";

/** Questions of one call: a server that asks without end gets no answer from then on. */
const MAX_QUESTIONS = 100;

/**
 * What a person can be asked who calls by hand, as the capabilities of an MCP client.
 *
 * @example const peer = { capabilities: PERSON_CAPABILITIES, ask: askPerson };
 */
export const PERSON_CAPABILITIES: Json = { elicitation: { form: {}, url: {} }, sampling: {} };

/**
 * The answer of a person to the question of a tool.
 *
 * @example const answer: PersonAnswer = { action: "accept", content: { name: "Ada" } };
 */
export interface PersonAnswer {
  readonly action: "accept" | "decline" | "cancel";
  /** The fields of a form. */
  readonly content?: Json | undefined;
  /** What a model would have said. */
  readonly text?: string | undefined;
}

/**
 * What a server asks for: the fields of a form, a visit to a page, or the answer of a model.
 *
 * @returns nothing for what a person cannot be asked
 * @example const isForm = kindOfQuestion("elicitation/create", params) === "form";
 */
export function kindOfQuestion(
  method: string,
  params: Json,
): "form" | "page" | "model" | undefined {
  if (method === "sampling/createMessage") return "model";
  if (method !== "elicitation/create") return undefined;
  return params["mode"] === "url" ? "page" : "form";
}

/**
 * Refuses a question when a call has asked too many.
 *
 * @throws {GatewayError} `rate_limited`
 * @example countQuestion(++asked);
 */
export function countQuestion(asked: number): void {
  if (asked > MAX_QUESTIONS)
    throw new GatewayError("rate_limited", `A call may ask ${MAX_QUESTIONS} questions.`);
}

/**
 * The answer of a person as MCP writes it.
 *
 * @throws {GatewayError} `upstream_error` with the code of MCP when a person refuses to answer as a model (2025-11-25, Sampling, "Error
 *   Handling")
 * @example const result = toPersonResult("elicitation/create", { action: "decline" });
 */
export function toPersonResult(method: string, { action, content, text = "" }: PersonAnswer): Json {
  if (method !== "sampling/createMessage")
    return action === "accept" && content ? { action, content } : { action };
  if (action === "accept")
    return {
      role: "assistant",
      content: { type: "text", text },
      model: "person",
      stopReason: "endTurn",
    };
  throw new GatewayError("upstream_error", "The person refused to answer.", {
    data: { rpcError: { code: -1, message: "User rejected sampling request" } },
  });
}
