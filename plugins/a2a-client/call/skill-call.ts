import { Answer, type Call, type Json, type Peer } from "propylon";
import { traceOf } from "propylon/kit";
import type { Task } from "propylon/contract";
import type { AgentClient, RequestContext } from "./agent-client.ts";
import { AgentRefusal } from "../card/errors.ts";
import { answerTo, messageOf, readArguments, WrongArguments } from "./message.ts";
import type { IdOwners } from "../owners.ts";
import { outcomeToAnswer, questionOf } from "./result.ts";
import { PARTING_MS, Turn, type TurnOptions } from "./turn.ts";
import type { Outcome } from "./view.ts";

const ANSWER_SCHEMA: Json = {
  type: "object",
  properties: { answer: { type: "string", title: "Answer" } },
  required: ["answer"],
};

/**
 * Asks the user behind a call what an agent wants to know, if the client can (MCP elicitation).
 *
 * @returns `undefined` when nobody can or wants to answer, or the agent wants credentials, which MCP forbids to ask for
 */
async function askCaller(peer: Peer, task: Task, signal: AbortSignal): Promise<string | undefined> {
  if (task.status.state !== "input-required" || !peer.capabilities["elicitation"]) return undefined;
  const params = { message: questionOf(task), requestedSchema: ANSWER_SCHEMA };
  try {
    const { action, content } = await peer.ask("elicitation/create", params, signal);
    const answer = (content as Json | undefined)?.["answer"];
    return action === "accept" && typeof answer === "string" ? answer : undefined;
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
}

/** How much of a refusal is passed on, in characters. */
const EXCERPT = 2_000;

/** What a {@link SkillCall} works with. */
export interface ConversationOptions extends Omit<TurnOptions, "headers" | "report"> {
  readonly owners: IdOwners;
  /** Id of the skill called. */
  readonly skill: string;
}

/** One call of a skill: a message to its agent and, while the agent asks and the user answers, the further ones. */
export class SkillCall {
  readonly #call: Call;
  readonly #options: ConversationOptions;
  readonly #client: AgentClient;
  readonly #headers: RequestContext["headers"];
  #turn: Turn | undefined;
  #waiting: string | undefined;
  #reports = 0;

  constructor(call: Call, options: ConversationOptions) {
    this.#call = call;
    this.#options = options;
    this.#client = options.client;
    // All of a caller's own that an agent gets to see.
    this.#headers = (traceOf(call.meta ?? {}) ?? {}) as RequestContext["headers"];
  }

  /** @throws {GatewayError} `upstream_error`, `result_too_large`; why it was abandoned */
  async run(): Promise<Answer> {
    try {
      const args = readArguments(this.#call.args);
      const refusal = this.#refusalOf(args.taskId, args.contextId);
      if (refusal !== undefined) return Answer.failed(refusal);
      return await this.#converse(messageOf(args, this.#options.skill));
    } catch (error) {
      if (error instanceof WrongArguments)
        return Answer.failed(`The arguments are wrong: ${error.message}.`, "invalid");
      if (error instanceof AgentRefusal)
        return Answer.failed(`The agent refused: ${error.message.slice(0, EXCERPT)}`);
      throw error;
    }
  }

  /** Nobody waits any more: what the agent does is cancelled. Never rejects. */
  async abandon(reason: unknown): Promise<void> {
    if (this.#waiting === undefined) return this.#turn?.abandon(reason);
    const context = { signal: AbortSignal.timeout(PARTING_MS), headers: this.#headers };
    await this.#client.tasks?.cancel(this.#waiting, context).catch(() => {});
  }

  /** Why an id is not taken from this caller. */
  #refusalOf(...ids: (string | undefined)[]): string | undefined {
    const { owners } = this.#options;
    const unknown = ids.find((id) => id !== undefined && !owners.owns(id, this.#call.principal));
    if (unknown === undefined) return undefined;
    return `There is no task or conversation ${JSON.stringify(unknown)} of yours to go on with. Leave the id out to begin a new one.`;
  }

  async #converse(first: ReturnType<typeof messageOf>): Promise<Answer> {
    const { peer, signal } = this.#call;
    for (let message = first; ;) {
      this.#turn = new Turn({
        ...this.#options,
        headers: this.#headers,
        report: (words) => this.#report(words),
      });
      // The skill is told twice: agents look for it in either place.
      const outcome = await this.#turn.run({ message, metadata: first.metadata });
      this.#claim(outcome);
      if ("message" in outcome) return outcomeToAnswer(outcome);
      this.#waiting = outcome.task.id;
      const answer = await askCaller(peer, outcome.task, signal);
      this.#waiting = undefined;
      if (answer === undefined) return outcomeToAnswer(outcome);
      message = answerTo(outcome.task, answer);
    }
  }

  #claim(outcome: Outcome): void {
    const { owners } = this.#options;
    const { principal } = this.#call;
    if ("task" in outcome) owners.claim(outcome.task.id, principal);
    const { contextId } = "task" in outcome ? outcome.task : outcome.message;
    owners.claim(contextId, principal);
  }

  #report(words: string): void {
    this.#call.progress?.({ progress: ++this.#reports, ...(words !== "" && { message: words }) });
  }
}
