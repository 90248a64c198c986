import { GatewayError } from "propylon";
import { FIRST_PROBLEM } from "propylon/kit";
import { keptPrincipalSchema } from "propylon/internal";
import { ASK_TIMEOUTS, askOnce, type Store } from "propylon/store";
import { z, type ZodType } from "zod";

const TOPIC = "job";

/** How long the answer to a question may take, in milliseconds. */
const TIMEOUTS = {
  look: ASK_TIMEOUTS.look,
  answer: ASK_TIMEOUTS.deliver,
  cancel: ASK_TIMEOUTS.end,
} as const;

const questionSchema = z.object({
  id: z.string(),
  /** Who asks. The replica that has the job compares its owner, too. */
  asker: keptPrincipalSchema.pick({ ref: true, roles: true }),
  verb: z.enum(["look", "answer", "cancel"]),
  /** What the verb needs besides. */
  body: z.unknown().optional(),
});

/** A question about a job. */
export type JobQuestion = z.output<typeof questionSchema>;

/** Questions between the replicas of a store about jobs at work. */
export class JobQuestions<A> {
  readonly #store: Store;
  readonly #schema: ZodType<A>;

  /** @param schema the form of answers */
  constructor(store: Store, schema: ZodType<A>) {
    this.#store = store;
    this.#schema = schema;
  }

  /** Answers what other replicas ask. @param answer `undefined` for a job that is not here, or not its asker's @returns ends that */
  async serve(answer: (question: JobQuestion) => Promise<A | undefined>): Promise<() => void> {
    if (!this.#store.shared) return () => {};
    const end = await this.#store.answer(TOPIC, async function* (body: unknown) {
      const told = await answer(questionSchema.parse(body, FIRST_PROBLEM));
      if (told === undefined) throw new GatewayError("not_found", "The job is not here.");
      yield told;
    });
    return () => void end();
  }

  /** @throws {GatewayError} `unavailable` when that replica does not answer; what it says */
  ask(replica: string, question: JobQuestion): Promise<A> {
    const [schema, timeout] = [this.#schema, TIMEOUTS[question.verb]];
    return askOnce(this.#store, replica, { topic: TOPIC, body: question, schema, timeout });
  }
}
