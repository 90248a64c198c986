import { type Management, FIRST_PROBLEM, LookupQuota, type RunningCall } from "propylon/kit";
import { ASK_TIMEOUTS, askOnce, type Store } from "propylon/store";
import { z } from "zod";
import type { AdminContext } from "./administration.ts";
import {
  answerSchema,
  type AnswerVerdict,
  type CallerAnswer,
  type CallQuestions,
  verdictSchema,
} from "./call-questions.ts";

const TOPIC = "calls";

const viewerSchema = z.object({ ref: z.string(), isOperator: z.boolean() });
const querySchema = z.object({
  limit: z.int().min(1),
  after: z.string().optional(),
  server: z.string().optional(),
});
const questionSchema = z.object({
  viewer: viewerSchema,
  query: querySchema.optional(),
  cancel: z.string().optional(),
  question: z.string().optional(),
  answer: answerSchema.optional(),
});

/** A call of one replica or another. */
interface ShownCall extends Omit<RunningCall, "principal" | "started"> {
  /** Id of the one that it runs at, where several share the store. */
  readonly replica?: string;
  /** Ref of who made it. */
  readonly principal: string;
  /** Where it stands in the list: when it began, and its id. */
  readonly place: string;
}

/** What is read here of a call that another replica shows. */
const callSchema = z.looseObject({
  id: z.string(),
  principal: z.string(),
  place: z.string(),
}) as unknown as z.ZodType<ShownCall>;
const pageSchema = z.object({ total: z.int(), calls: z.array(callSchema).max(10_000) });
const cancelledSchema = z.object({
  server: z.string(),
  tool: z.string(),
  isCancelled: z.boolean(),
});

/** Who looks: operators see all calls, others their own. */
export type Viewer = z.output<typeof viewerSchema>;
/** A page of calls. */
export type CallsQuery = z.output<typeof querySchema>;
type ReplicaPage = z.output<typeof pageSchema>;
/** What became of a call that was to be cancelled. */
export type CancelledCall = z.output<typeof cancelledSchema>;

/** A page of the calls of all replicas. */
interface CallsPage extends ReplicaPage {
  /** Place of the last call of the page, when there are more. */
  readonly next: string | null;
  /** Whether all replicas answered; absent where there are no others. */
  readonly complete?: boolean;
}

/** The calls that run at the replicas of a store, at this one alone where none is shared. */
export class CallsInFlight {
  readonly #management: Management;
  readonly #store: Store;
  readonly #questions: CallQuestions;
  readonly #lookups = new LookupQuota("calls of other replicas");

  constructor({ management, store }: AdminContext["services"], questions: CallQuestions) {
    this.#management = management;
    this.#store = store;
    this.#questions = questions;
  }

  /** Tells other replicas of the calls here. @returns ends that */
  async serve(): Promise<() => void> {
    if (!this.#store.shared) return () => {};
    const answer = (body: unknown): Promise<unknown> => this.#answer(body);
    const end = await this.#store.answer(TOPIC, async function* (body) {
      yield await answer(body);
    });
    return () => void end();
  }

  /** The calls of all replicas, the eldest first. */
  async list(viewer: Viewer, query: CallsQuery): Promise<CallsPage> {
    const own = this.#page(viewer, query);
    const others = await this.#askAll({ viewer, query }, pageSchema);
    const pages = [own, ...(others?.answers ?? [])];
    const all = pages.flatMap(({ calls }) => calls).toSorted(byPlace);
    const calls = all.slice(0, query.limit);
    // A replica that sends a whole page may have more.
    const isMore =
      all.length > calls.length || pages.some((page) => page.calls.length > query.limit);
    return {
      total: pages.reduce((sum, { total }) => sum + total, 0),
      ...(others && { complete: others.complete }),
      calls,
      next: isMore ? calls.at(-1)!.place : null,
    };
  }

  /** Ends a call, wherever it runs; `undefined` when the viewer sees none of that id. */
  async cancel(viewer: Viewer, id: string): Promise<CancelledCall | undefined> {
    const own = this.#cancel(viewer, id);
    if (own) return own;
    const others = await this.#askAll({ viewer, cancel: id }, cancelledSchema.nullable());
    return others?.answers.find((answer) => answer !== null) ?? undefined;
  }

  /** Answers what the tool of a call asks, wherever it runs; `undefined` when nobody asked the viewer such a question. */
  async answer(
    viewer: Viewer,
    question: string,
    answer: CallerAnswer,
  ): Promise<AnswerVerdict | undefined> {
    const own = await this.#questions.answer(viewer.ref, question, answer);
    if (own) return own;
    const asked = { viewer, question, answer };
    const others = await this.#askAll(asked, verdictSchema.nullable());
    return others?.answers.find((verdict) => verdict !== null) ?? undefined;
  }

  async #answer(body: unknown): Promise<unknown> {
    const { viewer, query, cancel, question, answer } = questionSchema.parse(body, FIRST_PROBLEM);
    if (question !== undefined && answer !== undefined)
      return (await this.#questions.answer(viewer.ref, question, answer)) ?? null;
    if (cancel !== undefined) return this.#cancel(viewer, cancel) ?? null;
    return this.#page(viewer, query!);
  }

  /** One call more than a page has, so that it is known whether there are more. */
  #page(viewer: Viewer, { limit, after, server }: CallsQuery): ReplicaPage {
    const all = this.#visible(viewer).filter(
      (call) => server === undefined || call.server === server,
    );
    const calls = all.map((call) => this.#show(call));
    const rest =
      after === undefined ? calls : calls.filter((call) => comparePlaces(call.place, after) > 0);
    return { total: all.length, calls: rest.slice(0, limit + 1) };
  }

  #show({ principal, started, ...call }: RunningCall): ShownCall {
    const { shared, replica } = this.#store;
    // Of one clock for all replicas, and no change of it moves a call of one.
    const at = shared && started > 0 ? performance.timeOrigin + started : started;
    return {
      ...call,
      ...(shared && { replica }),
      principal: principal.ref,
      place: `${at}_${call.id}`,
    };
  }

  #visible({ ref, isOperator }: Viewer): readonly RunningCall[] {
    const calls = this.#management.calls();
    return isOperator ? calls : calls.filter(({ principal }) => principal.ref === ref);
  }

  #cancel(viewer: Viewer, id: string): CancelledCall | undefined {
    const call = this.#visible(viewer).find((each) => each.id === id);
    if (!call) return undefined;
    const reason =
      call.principal.ref === viewer.ref
        ? "The call was cancelled by its caller."
        : "An operator cancelled the call.";
    const isCancelled = this.#management.cancel(id, reason);
    return { server: call.server, tool: call.name, isCancelled };
  }

  /**
   * What the others say; `undefined` where there are none. One that has just died is listed for a moment.
   *
   * @throws {GatewayError} `unavailable` when too many are asked
   */
  async #askAll<T>(
    question: z.input<typeof questionSchema>,
    schema: z.ZodType<T>,
  ): Promise<{ readonly answers: T[]; readonly complete: boolean } | undefined> {
    if (!this.#store.shared) return undefined;
    return this.#lookups.run(question.viewer.ref, () => this.#askOthers(question, schema));
  }

  async #askOthers<T>(
    question: object,
    schema: z.ZodType<T>,
  ): Promise<{ readonly answers: T[]; readonly complete: boolean }> {
    const others = await this.#store.others().catch(() => undefined);
    const answers = await Promise.all(
      [...(others ?? [])].map((id) => this.#ask(id, question, schema)),
    );
    const there = answers.filter((answer) => answer !== undefined);
    return { answers: there, complete: there.length === others?.size };
  }

  /** What cannot be asked is told by its absence. */
  #ask<T>(replica: string, body: object, schema: z.ZodType<T>): Promise<T | undefined> {
    const question = { topic: TOPIC, body, schema, timeout: ASK_TIMEOUTS.look };
    return askOnce(this.#store, replica, question).catch(() => undefined);
  }
}

/** Calls come and go between two pages: the place of one that has gone is still a place. */
function comparePlaces(one: string, other: string): number {
  const [at, from] = [one.indexOf("_"), other.indexOf("_")];
  const byTime = Number(one.slice(0, at)) - Number(other.slice(0, from));
  if (byTime !== 0) return byTime;
  const [id, otherId] = [one.slice(at + 1), other.slice(from + 1)];
  return id === otherId ? 0 : id > otherId ? 1 : -1;
}

const byPlace = (one: ShownCall, other: ShownCall): number => comparePlaces(one.place, other.place);
