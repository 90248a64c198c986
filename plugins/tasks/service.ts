import { type Answer, defineService, type Json, type Principal, type Progress } from "propylon";
import type { TaskEnd } from "./end.ts";
import type { JobState } from "./jobs/states.ts";

/** Something a task wants to know: an MCP request to a client, such as `elicitation/create`. */
export interface InputRequest {
  readonly method: string;
  readonly params?: Json | undefined;
}

/** A piece of work that runs beyond its connection, whatever it was started through. */
export interface SharedTask {
  /** Nobody can guess it. */
  readonly id: string;
  /** What it is at home: `jobs`, `mcp`, or the kind of a {@link TaskSource}. */
  readonly kind: string;
  /** The server that works on it. */
  readonly server: string;
  /** What it works on: a tool, skill or agent. */
  readonly name: string;
  /** How the face that began it shows it. */
  readonly format?: string | undefined;
  readonly state: JobState;
  /** Words about the state, for people. */
  readonly message?: string | undefined;
  readonly progress?: Progress | undefined;
  /** ISO 8601, as all times of it. */
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Set with its final state. */
  readonly endedAt?: string | undefined;
  /** Milliseconds from {@link createdAt} for which it can be read at least; while it runs, more may come. */
  readonly ttl: number;
  /** What it waits for, by key; not empty while the state is `input_required`. A key is used once. */
  readonly questions: ReadonlyMap<string, InputRequest>;
  /** Set when it is completed or failed. */
  readonly end?: TaskEnd | undefined;
  /**
   * Ends it, at whichever replica it runs; does nothing to one that has ended.
   * @throws {GatewayError} `unavailable`: it is as it was
   */
  cancel(): Promise<void>;
  /**
   * Answers some of its questions; keys that are not open are passed over.
   * @throws {GatewayError} `unavailable` when the replica that works on it does not answer
   */
  answer(responses: Json): void | Promise<void>;
  /** Drops one that has ended before its time, where its kind can. */
  forget?(): Promise<void>;
  /** Calls back after each change of state or questions. @returns stops that */
  watch(listener: () => void): () => void;
}

/** How the end of a piece of work is told: an answer of its server, or why there is none. */
export type TaskOutcome = Answer | Error;

/** A task of the server's own, which goes on when the gateway ends. */
export interface TaskOrigin {
  /** The server's id of it. */
  readonly id: string;
  /** What its client can be asked, as the client declared it. */
  readonly capabilities: Json;
}

/** A task at work in this process, for code that works on it. */
export interface TaskHandle extends SharedTask {
  /** Reports progress. */
  report(progress: Progress): void;
  /** Tells what it waits for now; an empty map: nothing. */
  ask(questions: ReadonlyMap<string, InputRequest>): void;
  /** Gives its end. Once it is stored, it counts. Never rejects; does nothing to a task that has ended. */
  finish(outcome: TaskOutcome): Promise<void>;
  /** Its server works on it as a task of its own, by which it goes on after a restart. Resolves when that is stored. Never rejects. */
  goesOn(origin: TaskOrigin): Promise<void>;
  /** It never came to be: nobody was told of it. */
  drop(): void;
}

/** What a task is begun with. */
export interface TaskRequest {
  readonly server: string;
  readonly name: string;
  readonly principal: Principal;
  /** See {@link SharedTask.format}. */
  readonly format?: string | undefined;
  /** See {@link TaskHandle.goesOn}. */
  readonly origin?: TaskOrigin | undefined;
  /** Its owner cancelled it, or the gateway ends. */
  cancel(reason: Error): void;
  /** Some of its questions were answered. */
  answer?(responses: Json): void;
}

/** Bounds of the tasks of one kind. */
export interface TaskLimits {
  /** At work at a time, in all and of one principal. */
  readonly maxRunning: number;
  readonly maxRunningEach: number;
  /** Kept at a time, in all and of one principal. */
  readonly maxTasks: number;
  readonly maxTasksEach: number;
  /** Bytes of one result, of all, and of those of one principal. */
  readonly maxTaskSize: number;
  readonly maxTotalSize: number;
  readonly maxTotalSizeEach: number;
  /** Milliseconds after the end. */
  readonly ttl: number;
  /** At a bound the oldest that ended makes way, of the one with the most. Otherwise nothing new begins. */
  readonly evicts: boolean;
}

/** What a table has, and what it had no room for. */
export interface TableCounts {
  readonly running: number;
  readonly kept: number;
  /** How often something had no room since the process started, by the bound: a task, or the result of one. */
  readonly refused: ReadonlyMap<keyof TaskLimits, number>;
}

/** The tasks of one kind. Lives through reloads. */
export interface TaskTable {
  /** In force from now on. */
  limits: TaskLimits;
  readonly counts: TableCounts;
  /** Takes in the tasks of processes before, once: those that ran then have failed, or go on at their servers. For `onStart`. */
  load(): Promise<void>;
  /**
   * Begins a task: it is stored, and can be found.
   * @throws {GatewayError} `rate_limited` at a bound; `unavailable`
   */
  begin(request: TaskRequest): Promise<TaskHandle>;
  /** Ends every task at work, as failed where it will be found after a restart. */
  cancelAll(): void;
}

/** Tasks that another plugin keeps. */
export interface TaskSource {
  /** A task of this principal. One of somebody else is `undefined`. */
  find(id: string, principal: Principal): SharedTask | undefined | Promise<SharedTask | undefined>;
}

/** When a call of a tool becomes a task. */
export interface TaskRule {
  /** Milliseconds; `undefined` = never. */
  readonly after: number | undefined;
  /** Whether clients that do not support tasks cannot call it. */
  readonly isRequired: boolean;
}

/** What runs beyond its connection, in one place: begun through one face, it is seen and cancelled through every other. */
export interface TaskService {
  /** Milliseconds that clients are asked to wait before they look again. */
  readonly pollInterval: number;
  /** Tasks that calls of MCP clients have become. */
  readonly calls: TaskTable;
  /** Every table that was opened, by kind. */
  readonly tables: ReadonlyMap<string, Pick<TaskTable, "counts">>;
  /** Look-ups that had no room since the process started. */
  readonly refusedLookups: number;
  /** Whether any rule has {@link TaskRule.isRequired}. */
  readonly hasRequired: boolean;
  /** When calls of a tool become tasks. */
  ruleOf(server: string, tool: string): TaskRule;
  /** The tasks of one kind; made with the first call. Code that opens it sets its limits, and loads it. */
  open(kind: string, limits: TaskLimits): TaskTable;
  /** Lets tasks that a plugin keeps itself be found. @returns ends that */
  join(source: TaskSource): () => void;
  /**
   * A task of this principal, of any kind.
   * @throws {GatewayError} `unavailable` when it cannot be known
   */
  find(id: string, principal: Principal): Promise<SharedTask | undefined>;
}

/**
 * {@link SharedTask.ttl} of a task that is kept for some time behind its end. While it runs that time is not begun.
 *
 * @param kept milliseconds
 */
export function ttlOf(
  { createdAt, endedAt }: Pick<SharedTask, "createdAt" | "endedAt">,
  kept: number,
): number {
  const until = endedAt === undefined ? Date.now() : Date.parse(endedAt);
  return Math.max(0, until - Date.parse(createdAt)) + kept;
}

/** Service token of the tasks plugin. */
export const Tasks = defineService<TaskService>("tasks");
