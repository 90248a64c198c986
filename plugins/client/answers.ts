import { randomUUID } from "node:crypto";
import { GatewayError, type Json, type Peer } from "propylon";
import { isObject, parseJson } from "propylon/kit";
import { DEEPEST, notOffered } from "propylon/internal";
import { findProblems } from "propylon/plugins/openapi";

/** Questions of one call: a server that asks without end gets no answer from then on. */
const MAX_QUESTIONS = 100;

/** What a server asks its caller: for the fields of a form, for a visit to a page, or for the answer of a model. */
export interface CallQuestion {
  readonly kind: "form" | "page" | "model";
  readonly params: Json;
  /** What the fields of a form have to be. */
  readonly schema: Json;
}

/** The answer of a person. */
export interface PersonAnswer {
  readonly action: "accept" | "decline" | "cancel";
  /** The fields of a form. */
  readonly content?: Json;
  /** What the model says. */
  readonly text?: string;
}

/** Asks a person. */
export type AskPerson = (question: CallQuestion, signal?: AbortSignal) => Promise<PersonAnswer>;

/**
 * Who answers what a tool asks: the values of `--answer` one after the other, then a person, then nobody.
 *
 * @returns nothing where nobody answers, so that the server is told that it need not ask
 */
export function answeringPeer(
  given: readonly string[],
  askPerson: AskPerson | undefined,
): Peer | undefined {
  if (given.length === 0 && !askPerson) return undefined;
  const left = [...given];
  let asked = 0;
  // One terminal: the next question waits for the answer to this one.
  let turn: Promise<unknown> = Promise.resolve();
  const answerTo = (question: CallQuestion, signal?: AbortSignal): Promise<PersonAnswer> => {
    const next = left.shift();
    if (next !== undefined) return Promise.resolve(readAnswer(next, question));
    return askPerson?.(question, signal) ?? Promise.resolve({ action: "cancel" });
  };
  return {
    key: randomUUID(),
    capabilities: { elicitation: { form: {}, url: {} }, sampling: {} },
    ask(method, params = {}, signal) {
      const question = questionOf(method, params);
      if (!question) return Promise.reject(notOffered(method, {}));
      if (++asked > MAX_QUESTIONS)
        return Promise.reject(
          new GatewayError("rate_limited", `A call may ask ${MAX_QUESTIONS} questions.`),
        );
      const answered = turn.then(() => answerTo(question, signal));
      turn = answered.catch(() => {});
      return answered.then((answer) => toResult(question, answer));
    },
    tell() {},
  };
}

function questionOf(method: string, params: Json): CallQuestion | undefined {
  const schema = isObject(params["requestedSchema"]) ? params["requestedSchema"] : {};
  if (method === "sampling/createMessage") return { kind: "model", params, schema };
  if (method !== "elicitation/create") return undefined;
  return { kind: params["mode"] === "url" ? "page" : "form", params, schema };
}

/**
 * A value of `--answer`: `decline`, `cancel`, `accept` for a page that was visited, the fields of a form as JSON, or what the
 * model says. What does not fit is said, and cancels the question.
 */
function readAnswer(text: string, question: CallQuestion): PersonAnswer {
  if (text === "decline" || text === "cancel") return { action: text };
  if (question.kind === "model") return { action: "accept", text };
  if (question.kind === "page") return { action: "accept" };
  const content = text === "accept" ? {} : parsed(text);
  const problem = content
    ? problemOf(question.schema, content)
    : `"${text}" is neither a JSON object nor accept, decline or cancel.`;
  if (problem === undefined) return { action: "accept", content: content! };
  process.stderr.write(`The answer does not fit. ${problem}\n`);
  return { action: "cancel" };
}

function parsed(text: string): Json | undefined {
  try {
    const value = parseJson(Buffer.from(text), DEEPEST);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What is wrong with the fields of a form, in one line. */
export function problemOf(schema: Json, content: Json): string | undefined {
  const problems = findProblems(schema, content);
  if (problems.length === 0) return undefined;
  return problems.map(({ path, message }) => `${path || "the answer"}: ${message}`).join(" ");
}

/** The answer as MCP writes it. */
function toResult({ kind }: CallQuestion, { action, content, text = "" }: PersonAnswer): Json {
  if (kind !== "model") return action === "accept" && content ? { action, content } : { action };
  if (action === "accept")
    return {
      role: "assistant",
      content: { type: "text", text },
      model: "person",
      stopReason: "endTurn",
    };
  // MCP has a code for it (2025-11-25, Sampling, "Error Handling").
  throw new GatewayError("upstream_error", "The person refused to answer.", {
    data: { rpcError: { code: -1, message: "User rejected sampling request" } },
  });
}
