import { randomUUID } from "node:crypto";
import type { Json, Peer } from "propylon";
import { isObject, parseJson } from "propylon/kit";
import { DEEPEST, notOffered } from "propylon/internal";
import { findProblems } from "propylon/plugins/openapi";
import {
  countQuestion,
  kindOfQuestion,
  PERSON_CAPABILITIES,
  type PersonAnswer,
  toPersonResult,
} from "./person.ts";

/** A question of a server to its caller. */
export interface CallQuestion {
  readonly kind: NonNullable<ReturnType<typeof kindOfQuestion>>;
  readonly params: Json;
  /** What the fields of a form have to be. */
  readonly schema: Json;
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
    capabilities: PERSON_CAPABILITIES,
    async ask(method, params = {}, signal) {
      const kind = kindOfQuestion(method, params);
      if (!kind) throw notOffered(method, {});
      countQuestion(++asked);
      const schema = isObject(params["requestedSchema"]) ? params["requestedSchema"] : {};
      const answered = turn.then(() => answerTo({ kind, params, schema }, signal));
      turn = answered.catch(() => {});
      return toPersonResult(method, await answered);
    },
    tell() {},
  };
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
