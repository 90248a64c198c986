import { GatewayError, type Json, type Progress } from "propylon";
import { boundedRecord, FIRST_PROBLEM } from "propylon/kit";
import { askOnce, type Store } from "propylon/store";
import { z } from "zod";
import { type SharedTask, ttlOf } from "./service.ts";
import type { OwnTaskRecord } from "./task-record.ts";

/** How long another gateway may take to tell of a task, in milliseconds. */
const ANSWER_MS = 5_000;
const TOPIC = "task";

const jsonSchema = boundedRecord(z.string(), z.unknown(), 10_000);

const questionSchema = z.object({
  kind: z.string(),
  id: z.string(),
  /** `ref` of its owner, who is compared where it runs, too. */
  owner: z.string(),
  verb: z.enum(["look", "cancel", "answer"]),
  responses: jsonSchema.optional(),
});

/** What one gateway asks another about a task. */
type Question = z.output<typeof questionSchema>;

const viewSchema = z.object({
  state: z.enum(["working", "input_required", "completed", "failed", "cancelled"]),
  updatedAt: z.string(),
  progress: z
    .object({
      progress: z.number(),
      total: z.number().optional(),
      message: z.string().optional(),
    })
    .optional(),
  questions: z
    .array(z.tuple([z.string(), z.object({ method: z.string(), params: jsonSchema.optional() })]))
    .max(1_000),
});

/** How a task at work is, beyond what is stored of it. */
type View = z.output<typeof viewSchema>;

/** The gateways of one store, as far as they tell each other of tasks at work. */
export class OtherGateways {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Whether there can be any. */
  get canBe(): boolean {
    return this.#store.shared;
  }

  /** Those that are there. */
  living(): Promise<ReadonlySet<string>> {
    return this.#store.others();
  }

  /**
   * Answers what others ask about tasks here.
   *
   * @param find a task at work here
   * @returns ends that
   */
  async serve(
    find: (kind: string, id: string, owner: string) => SharedTask | undefined,
  ): Promise<() => void> {
    if (!this.canBe) return () => {};
    const end = await this.#store.answer(TOPIC, async function* (body: unknown) {
      const { kind, id, owner, verb, responses } = questionSchema.parse(body, FIRST_PROBLEM);
      const task = find(kind, id, owner);
      if (!task) throw new GatewayError("not_found", "The task is not here.");
      if (verb === "cancel") await task.cancel();
      if (verb === "answer") await task.answer(responses ?? {});
      yield toView(task);
    });
    return () => void end();
  }

  /** A task that runs at one of them. @param watch tells when its record is written @returns `undefined`: it has just ended */
  async show(
    record: OwnTaskRecord,
    kind: string,
    ttl: number,
    watch: SharedTask["watch"],
  ): Promise<SharedTask | undefined> {
    const { id, owner, gateway, server, name, format, createdAt } = record;
    let view = undefined as View | undefined;
    const ask = async (verb: Question["verb"], responses?: Json): Promise<void> =>
      void (view = await this.#ask(gateway, { kind, id, owner, verb, responses }));
    // One that cannot be asked now is told as it was stored.
    await ask("look").catch(() => {});
    if (view && isOver(view)) return undefined;
    return {
      id,
      kind,
      server,
      name,
      format,
      createdAt,
      get state() {
        return view?.state ?? "working";
      },
      get message() {
        return view?.progress?.message;
      },
      get progress() {
        return view?.progress as Progress | undefined;
      },
      get updatedAt() {
        return view?.updatedAt ?? createdAt;
      },
      get endedAt() {
        return view && isOver(view) ? view.updatedAt : undefined;
      },
      get ttl() {
        return ttlOf({ createdAt }, ttl);
      },
      get questions() {
        return new Map(view?.questions);
      },
      cancel: () => ask("cancel"),
      answer: (responses) => ask("answer", responses),
      watch,
    };
  }

  #ask(gateway: string, body: Question): Promise<View> {
    const question = { topic: TOPIC, body, schema: viewSchema, timeout: ANSWER_MS };
    return askOnce(this.#store, gateway, question);
  }
}

function toView({ state, updatedAt, progress, questions }: SharedTask): View {
  return { state, updatedAt, progress, questions: [...questions] as View["questions"] };
}

function isOver({ state }: View): boolean {
  return state !== "working" && state !== "input_required";
}
