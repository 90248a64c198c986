import type { GatewayInfo, Principal } from "propylon";
import { LookupQuota, matchesWildcard, setTicker } from "propylon/kit";
import type { Store } from "propylon/store";
import type { TasksOptions } from "./options.ts";
import { answerQuestion, taskQuestions, type TaskQuestions } from "./replica-task.ts";
import { RestoredCall } from "./restored-call.ts";
import type {
  SharedTask,
  TaskLimits,
  TaskRule,
  TaskService,
  TaskSource,
  TaskTable,
} from "./service.ts";
import { OwnTasks } from "./task-table.ts";

/** How often is looked for what replicas left that are gone, in milliseconds. */
const TAKE_OVER_MS = 5_000;

/** Every task of this gateway, whatever it was begun through. Lives through reloads. */
export class TaskRegistry {
  readonly #store: Store;
  readonly #tables = new Map<string, OwnTasks>();
  readonly #sources = new Set<TaskSource>();
  readonly #lookups = new LookupQuota("tasks");
  readonly #questions: TaskQuestions;

  constructor(store: Store) {
    this.#store = store;
    this.#questions = taskQuestions(store);
  }

  /** Lets other replicas see and end what runs here, and takes over what they leave. @returns ends that */
  async serveOthers(): Promise<() => void> {
    const end = await this.#questions.serve((question) =>
      answerQuestion(question, (kind, id, owner) => this.#tables.get(kind)?.findHere(id, owner)),
    );
    // The store may be away: the next time will do.
    const look = (): void => void this.takeOver().catch(() => {});
    const ticker = setTicker(look, TAKE_OVER_MS).unref();
    return () => {
      clearInterval(ticker);
      end();
    };
  }

  /** Takes in what replicas left that are gone; one replica does, once. */
  async takeOver(): Promise<void> {
    for (const table of this.#tables.values()) await table.takeOver();
  }

  /** Waits for what servers went on with while there was no gateway. */
  resume(info: Pick<GatewayInfo, "servers" | "timeouts">): void {
    for (const table of this.#tables.values())
      table.resume((task) => void new RestoredCall(task, task.origin!).run(info));
  }

  /** The gateway ends. */
  rest(): void {
    for (const table of this.#tables.values()) table.rest();
  }

  /** The service with these options. */
  serve(options: TasksOptions): TaskService {
    const lookups = this.#lookups;
    return {
      tables: this.#tables,
      get refusedLookups() {
        return lookups.refused;
      },
      pollInterval: options.pollInterval,
      calls: this.open("mcp", callLimits(options)),
      hasRequired: Object.values(options.tools).some(({ required }) => required),
      open: (kind, limits) => this.open(kind, limits),
      join: (source) => this.join(source),
      find: (id, principal) => this.find(id, principal),
      ruleOf: (server, tool) => toRule(options, `${server}.${tool}`),
    };
  }

  /** The tasks of one kind. */
  open(kind: string, limits: TaskLimits): TaskTable {
    const table =
      this.#tables.get(kind) ?? new OwnTasks(kind, limits, this.#store, this.#questions);
    this.#tables.set(kind, table);
    return table;
  }

  join(source: TaskSource): () => void {
    this.#sources.add(source);
    return () => void this.#sources.delete(source);
  }

  async find(id: string, principal: Principal): Promise<SharedTask | undefined> {
    return this.#lookups.run(principal.ref, () => this.#look(id, principal));
  }

  async #look(id: string, principal: Principal): Promise<SharedTask | undefined> {
    for (const table of this.#tables.values()) {
      const task = await table.find(id, principal.ref);
      if (task) return task;
    }
    for (const source of this.#sources) {
      const task = await source.find(id, principal);
      if (task) return task;
    }
    return undefined;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#tables.values()].map((table) => table.close()));
  }
}

function toRule({ after, tools }: TasksOptions, name: string): TaskRule {
  const [, own] = Object.entries(tools).find(([pattern]) => matchesWildcard(pattern, name)) ?? [];
  const wanted = own?.after ?? after;
  return { after: wanted === false ? undefined : wanted, isRequired: own?.required ?? false };
}

/** Results share the room for all: nobody has more than a quarter of it. */
export function callLimits({ maxTotalSize, ...options }: TasksOptions): TaskLimits {
  return { ...options, maxTotalSize, maxTotalSizeEach: maxTotalSize / 4, evicts: false };
}
