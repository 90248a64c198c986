import { randomUUID } from "node:crypto";
import { GatewayError, type Json, type Peer } from "propylon";
import { boundedRecord, isObject, writeJson } from "propylon/kit";
import { missingCapability, notOffered, OpenQuestions } from "propylon/internal";
import {
  countQuestion,
  kindOfQuestion,
  PERSON_CAPABILITIES,
  toPersonResult,
} from "propylon/plugins/client";
import { z } from "zod";

/** How long a question waits for its answer, in milliseconds. */
const ANSWER_MS = 600_000;
/** Characters of JSON that the open questions of one call may have together. */
const MAX_OPEN_TEXT = 1_000_000;
/** Characters of an answer that a person types. */
const MAX_TEXT = 100_000;
/** Calls that somebody answers for at a time, of one caller and of all. */
const MAX_CALLS = { each: 50, all: 1_000 } as const;
/** Length of the key of a call, which is how the ids of its questions begin. */
const KEY_LENGTH = 36;

/** What a person answers to the question of a tool. */
export const answerSchema = z.strictObject({
  action: z.enum(["accept", "decline", "cancel"]),
  /** The fields of a form. */
  content: boundedRecord(z.string(), z.unknown(), 1_000).optional(),
  /** What a model would have said. */
  text: z.string().max(MAX_TEXT).optional(),
});
/** See {@link answerSchema}. */
export type CallerAnswer = z.output<typeof answerSchema>;

/** Words about a field of an answer. */
const problemSchema = z.object({ path: z.string(), message: z.string() });
/** An answer is taken when its fields have no problems. */
export const verdictSchema = z.object({ problems: z.array(problemSchema).max(100) });
/** See {@link verdictSchema}. */
export type AnswerVerdict = z.output<typeof verdictSchema>;

/** Sends an event to the caller; `false`: it has not read those before. */
type Tell = (event: string, body: string) => boolean;

/** What tools ask those who call them by hand, while it is open. Only who made the call can answer. */
export class CallQuestions {
  readonly #peers = new Map<string, CallerPeer>();

  /** @param owner ref of the caller @throws {GatewayError} `rate_limited` when too many calls have somebody who answers */
  begin(owner: string, tell: Tell): CallerPeer {
    const own = [...this.#peers.values()].filter((peer) => peer.owner === owner).length;
    if (own >= MAX_CALLS.each || this.#peers.size >= MAX_CALLS.all)
      throw new GatewayError("rate_limited", "Too many interactive calls are running.", {
        hint: "Wait until one ends, or call without interactive.",
      });
    const peer = new CallerPeer(owner, tell, () => this.#peers.delete(peer.key));
    this.#peers.set(peer.key, peer);
    return peer;
  }

  /** `undefined`: nobody asked this person such a question here, or it is over. */
  async answer(
    owner: string,
    id: string,
    answer: CallerAnswer,
  ): Promise<AnswerVerdict | undefined> {
    const peer = this.#peers.get(id.slice(0, KEY_LENGTH));
    return peer?.owner === owner ? peer.answer(id, answer) : undefined;
  }
}

/** Who called by hand, and reads the events of the call: its questions are events, and the answers come in requests of their own. */
class CallerPeer implements Peer {
  readonly key = randomUUID();
  readonly capabilities = PERSON_CAPABILITIES;
  readonly owner: string;
  readonly #tell: Tell;
  readonly #onEnd: () => void;
  readonly #questions: OpenQuestions;
  #asked = 0;
  #openText = 0;
  #isOver = false;

  constructor(owner: string, tell: Tell, onEnd: () => void) {
    this.owner = owner;
    this.#tell = tell;
    this.#onEnd = onEnd;
    this.#questions = new OpenQuestions(() => {}, this.key);
  }

  /** @throws {GatewayError} `invalid`, `too_large`, `rate_limited`; `cancelled` when it was withdrawn, or the call ended */
  async ask(method: string, params: Json = {}, signal?: AbortSignal): Promise<Json> {
    const text = writeJson(params);
    this.#check(method, params, text);
    this.#openText += text.length;
    const asked = this.#questions.ask(method, params, signal);
    const id = [...this.#questions.open.keys()].at(-1)!;
    const timer = setTimeout(() => this.#settle(id, { action: "cancel" }), ANSWER_MS);
    try {
      if (!this.#tell("question", writeJson({ id, method, params })))
        this.#settle(id, { action: "cancel" });
      return toPersonResult(method, (await asked) as CallerAnswer);
    } finally {
      clearTimeout(timer);
      this.#openText -= text.length;
      if (!this.#isOver) this.#tell("closed", writeJson({ id }));
    }
  }

  #check(method: string, params: Json, text: string): void {
    const isOffered = kindOfQuestion(method, params) !== undefined;
    const missing = isOffered ? missingCapability(method, params, this.capabilities) : {};
    if (missing !== undefined) throw notOffered(method, missing);
    countQuestion(++this.#asked);
    if (this.#openText + text.length > MAX_OPEN_TEXT)
      throw new GatewayError("too_large", "The questions of the call are too large.");
  }

  tell(): void {}

  /** Takes the answer to a question that is open, when it fits. */
  async answer(id: string, answer: CallerAnswer): Promise<AnswerVerdict | undefined> {
    const question = this.#questions.open.get(id);
    if (!question) return undefined;
    const problems = await problemsOf(question, answer);
    if (problems.length === 0) this.#settle(id, answer);
    return { problems: [...problems] };
  }

  /** The call is over. */
  end(): void {
    this.#isOver = true;
    this.#questions.reject(new GatewayError("cancelled", "The call is over."));
    this.#onEnd();
  }

  #settle(id: string, answer: CallerAnswer): void {
    this.#questions.settle({ [id]: answer });
  }
}

type Question = { readonly method: string; readonly params: Json | undefined };

async function problemsOf(
  { method, params }: Question,
  { action, content, text = "" }: CallerAnswer,
): Promise<AnswerVerdict["problems"]> {
  if (action !== "accept") return [];
  const kind = kindOfQuestion(method, params ?? {});
  if (kind === "model") return text === "" ? [{ path: "text", message: "It is missing." }] : [];
  const schema = params?.["requestedSchema"];
  if (kind === "page" || !isObject(schema)) return [];
  // Only what is asked needs it.
  const { findProblems } = await import("propylon/plugins/openapi");
  return [...findProblems(schema, content ?? {})];
}
