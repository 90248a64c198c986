import { randomUUID } from "node:crypto";
import { GatewayError, isGatewayError, type Principal } from "propylon";
import { type KeptPrincipal, keepPrincipal, type Store } from "propylon/kit";
import { STATES, type Message, type StreamEvent, type Task } from "propylon/contract";
import type {
  ListedTask,
  TaskOwner,
  RunningTask,
  RuntimeService,
  SendOptions,
  TaskFilter,
} from "../service.ts";
import { pickSkill } from "../skills.ts";
import { admit } from "./admission.ts";
import { TasksElsewhere } from "./elsewhere.ts";
import { LiveTask, type LiveTaskOptions } from "./live-task.ts";
import { Succession } from "./succession.ts";
import type { TaskRecord } from "./task-record.ts";
import { TaskRecords } from "./task-records.ts";
import { QueueExecution, type QueueDependencies, type QueueHost } from "./queue-execution.ts";
import {
  inMotion,
  NO_ANSWER,
  NOT_LET_IN,
  refuseCancel,
  refuseElsewhere,
  refuseLost,
  refuseMessage,
  refuseReuse,
  unknownTask,
} from "./refusals.ts";
import { TaskListing } from "./task-listing.ts";
import { TaskStore } from "./task-store.ts";
import { TaskCounts } from "./task-counts.ts";
import { TasksAtWork, type TaskDependencies } from "./tasks-at-work.ts";
import type { Work } from "./work.ts";

type Watcher = (task: Task, event: StreamEvent, owner: TaskOwner) => void;

/** The tasks of this runtime, for every dialect alike. Lives through reloads of the plugin. */
export class RequestHandler implements RuntimeService {
  /** How tasks ended, since the process started. */
  readonly counts = new TaskCounts();
  readonly #store = new TaskStore();
  readonly #records: TaskRecords;
  readonly #succession: Succession;
  readonly #elsewhere: TasksElsewhere;
  readonly #atWork = new TasksAtWork({
    dependencies: () => this.#current,
    isDraining: () => this.#draining,
    finish: (task, move) => this.#finish(task, move),
  });
  /** Messages that are not in the store yet. */
  readonly #arriving = new Map<LiveTask, Promise<void>>();
  readonly #watchers = new Set<Watcher>();
  readonly #listing: TaskListing;
  #dependencies: TaskDependencies | undefined;
  /** Set where any gateway of the store may work on a task. */
  #queue: QueueExecution | undefined;
  readonly #leaving = new Set<() => void>();
  #renew: QueueDependencies["renew"] = () => undefined;
  #draining = false;

  /** @param store where tasks outlive the process, if they do */
  constructor(store: Store) {
    this.#records = new TaskRecords(store);
    this.#elsewhere = new TasksElsewhere(store);
    this.#listing = new TaskListing({
      store: this.#store,
      records: this.#records,
      elsewhere: this.#elsewhere,
    });
    this.#succession = new Succession({
      store: this.#store,
      records: this.#records,
      make: (given) => this.#make(given),
      finish: (task, move) => this.#finish(task, move),
      tell: (task, event) => this.#tell(task, event),
      waits: (task) => this.#waits(task),
      isHandedOut: (record) => this.#queue !== undefined && record.queued !== undefined,
      putBack: async (record) => {
        if (record.replica === "" || (await this.#records.isAbandoned(record)))
          await this.#queue?.putBack(record);
      },
    });
  }

  /** Takes over the tasks of a process before this one; see {@link Succession}. */
  async load(): Promise<void> {
    await this.#succession.load();
    this.#store.sweep(this.#current.options, this.#drop);
  }

  /** Tells other gateways of the store of tasks at work here. @returns ends that */
  serveOthers(): Promise<() => void> {
    return this.#elsewhere.serve(this);
  }

  /**
   * Has messages worked on by whichever gateway of the store has room.
   * @returns begins to take tasks here, and returns what ends all that
   */
  handOut(dependencies: QueueDependencies): () => Promise<() => void> {
    const queue = new QueueExecution(this.#queueHost(), dependencies);
    this.#queue = queue;
    this.#renew = dependencies.renew;
    return async () => {
      const leave = await queue.start();
      this.#leaving.add(leave);
      return () => {
        leave();
        this.#leaving.delete(leave);
        // A reload sets up the next one before it ends this one.
        if (this.#queue === queue) this.#queue = undefined;
      };
    };
  }

  /** Works with these from now on; the returned function goes back, for a reload that fails. */
  adopt(dependencies: TaskDependencies): () => void {
    const before = this.#dependencies;
    this.#dependencies = dependencies;
    return () => {
      if (this.#dependencies === dependencies && before) this.#dependencies = before;
    };
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  /** Every task kept. */
  get tasks(): Iterable<LiveTask> {
    return this.#store;
  }

  /** The work that a call of one of our own tools is about; `undefined` when it is not about a task. */
  workOf(peerKey: string): Work | undefined {
    return this.#atWork.workOf(peerKey);
  }

  async send(message: Message, options: SendOptions): Promise<RunningTask> {
    if (this.#draining) throw new GatewayError("draining", "The runtime is shutting down.");
    try {
      return await (this.#queue
        ? this.#queue.send(message, options)
        : this.#send(message, options));
    } catch (error) {
      if (isGatewayError(error) && error.code === "rate_limited") this.counts.refusals.inc();
      throw error;
    }
  }

  async #send(message: Message, options: SendOptions): Promise<RunningTask> {
    // Without a store a message is taken in the turn in which it comes.
    if (this.#records.isKept) await this.#succession.fetch(message, options);
    if (this.#draining) throw new GatewayError("draining", "The runtime is shutting down.");
    const known = this.#findFor(message, options);
    if (known?.hasTaken(message)) {
      await this.#arriving.get(known);
      const mayRedo = known.isForsaken || known.isAbandoned;
      return mayRedo ? this.#redo(known, message, options) : known;
    }
    if (known && !this.#waits(known))
      throw known.knowsIdOf(message) ? refuseReuse() : refuseMessage(known);
    if (!known && options.continues) throw refuseLost();
    this.#admit(options.principal, known === undefined);
    return this.#begin(known ?? this.#create(message, options), message, options);
  }

  /** Somebody who went away without an answer is back: a queue delivers again what it has no result of. */
  async #redo(task: LiveTask, message: Message, options: SendOptions): Promise<RunningTask> {
    await task.settled;
    if (!task.isAbandoned && task.state !== "canceled") return task;
    if (!task.isAbandoned) this.#store.drop(task);
    if (!task.isAbandoned || !this.#succession.rewind(task)) await this.#records.drop(task);
    return this.send(message, options);
  }

  /** {@link get} for those who look elsewhere, too. */
  find(id: string, principal: TaskOwner): LiveTask | undefined {
    return this.#store.find(id, principal);
  }

  /** Milliseconds for which a task that ended is kept. */
  get ttl(): number {
    return this.#current.options.ttl;
  }

  get(id: string, principal: TaskOwner): LiveTask {
    const task = this.find(id, principal);
    if (task) return task;
    throw unknownTask();
  }

  async look(id: string, principal: TaskOwner): Promise<Task> {
    const record = await this.#succession.locate(id, principal);
    return record ? this.#elsewhere.look(record) : this.get(id, principal).task;
  }

  list(filter: TaskFilter, principal: Principal): readonly Task[] {
    return this.#store.list(filter, principal);
  }

  listAll(filter: TaskFilter, principal: TaskOwner): Promise<readonly ListedTask[]> {
    return this.#listing.listAll(filter, principal);
  }

  async follow(
    id: string,
    principal: TaskOwner,
    listener: (event: StreamEvent) => void,
    lost: (error: GatewayError) => void,
  ): Promise<() => void> {
    const record = await this.#succession.locate(id, principal);
    const queued = this.#queue && (record ?? (await this.#records.read(id, principal)));
    if (queued) return this.#queue!.follow(queued, listener);
    if (record) return this.#elsewhere.follow(record, listener, lost);
    return this.watch(id, principal, listener);
  }

  watch(id: string, { ref }: TaskOwner, listener: (event: StreamEvent) => void): () => void {
    listener({ task: this.get(id, { ref }).task });
    // A task that waits goes on with the next message, in a new turn.
    return this.watchAll((changed, event, owner) => {
      if (owner.ref === ref && changed.id === id && !("task" in event)) listener(event);
    });
  }

  async cancel(id: string, principal: TaskOwner): Promise<Task> {
    const record = await this.#succession.locate(id, principal);
    if (record?.replica === "")
      return (await this.#queue?.cancel(record)) ?? this.cancel(id, principal);
    // It is on its way to or from this gateway.
    if (record && this.#records.isOwn(record)) throw inMotion();
    if (record) return this.#elsewhere.cancel(record);
    const task = this.get(id, principal);
    if (task.isFinal) throw refuseCancel(task);
    await this.#atWork.end(task);
    if (task.state !== "canceled") throw refuseCancel(task);
    await task.confirmed;
    return task.task;
  }

  watchAll(listener: Watcher): () => void {
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  async answer(message: Message, sender: KeptPrincipal): Promise<void> {
    const principal = this.#renew(sender);
    if (!principal) throw NOT_LET_IN;
    await this.#send(message, { principal });
  }

  /** Takes no more messages; what is at work goes on, but for what waits for one. */
  drain(): void {
    this.#draining = true;
    for (const leave of this.#leaving) leave();
    this.#atWork.drain();
  }

  /** Ends everything at work, and waits until nothing of it goes on. */
  async close(): Promise<void> {
    this.drain();
    this.#queue?.handBack();
    await this.#atWork.close();
    await this.#records.close();
  }

  /** Drops what is kept no longer; who waited too long for an answer fails. */
  sweep(now = Date.now()): void {
    const { options } = this.#current;
    for (const task of this.#store) {
      if (!STATES[task.state].isInterrupted || now - task.changedAt <= options.ttl) continue;
      if (task.isAsking) task.cancellation.abort(new GatewayError("timeout", NO_ANSWER));
      else this.#finish(task, () => task.move("failed", [{ text: NO_ANSWER }]));
    }
    this.#store.sweep(options, this.#drop, now);
    // The store may be away: the next time will do.
    this.#succession.sweep().catch(() => {});
  }

  /** @throws {GatewayError} `disabled` before there was any skill */
  get #current(): TaskDependencies {
    if (this.#dependencies) return this.#dependencies;
    throw new GatewayError("disabled", "This runtime has no skills.", {
      hint: "Add plugins.a2a.skills.",
    });
  }

  /**
   * The task that a message is for, if it is there.
   * @throws {GatewayError} `not_found` when it names one that is not, and is not allowed to make it; `exists` for a message that names
   * none and has the id of another one, whose task has not ended
   */
  #findFor(message: Message, { id, principal }: SendOptions): LiveTask | undefined {
    const wanted = id ?? message.taskId;
    const known = wanted === undefined ? undefined : this.#store.find(wanted, principal);
    if (known) return known;
    if (id === undefined && message.taskId !== undefined)
      return this.get(message.taskId, principal);
    // A caller that chooses ids means by another id another task. One that does not may use a message's id again once its task is
    // over, as the public kit of A2A does: it gets a new one.
    const met = id === undefined ? this.#store.findByMessage(message, principal) : undefined;
    if (!met || met.isFinal) return undefined;
    if (!met.hasTaken(message)) throw refuseReuse();
    return met;
  }

  /** Whether a task waits for a message. One that was cancelled while it waited may have work that still ends. */
  #waits(task: LiveTask): boolean {
    return STATES[task.state].isInterrupted && (task.isAsking || !this.#atWork.has(task));
  }

  #admit(owner: TaskOwner, isNew: boolean): void {
    const { options } = this.#current;
    this.#store.sweep(options, this.#drop);
    const atWork = { all: this.#atWork.places, own: this.#atWork.placesOf(owner) };
    admit({
      all: { tasks: this.#store.live, bytes: this.#store.bytes, atWork: atWork.all },
      own: { ...this.#store.liveOf(owner), atWork: atWork.own },
      options,
      isNew,
    });
  }

  /** @throws {GatewayError} `not_found` for a skill that is not there */
  #create(message: Message, { id, principal, skill, metadata }: SendOptions): LiveTask {
    const wanted = skill ?? message.metadata?.["skill"] ?? metadata?.["skill"];
    const { options } = pickSkill(this.#current.skills, wanted, principal);
    return this.#make({
      id: id ?? randomUUID(),
      contextId: message.contextId ?? randomUUID(),
      owner: principal,
      skill: options.id,
    });
  }

  /** What a queue needs to hand tasks out, and to work on those that are handed to it. */
  #queueHost(): QueueHost {
    return {
      records: this.#records,
      options: () => this.#current.options,
      create: (message, options) => this.#create(message, options),
      read: (record) => this.#read(record),
      restore: (record) => {
        this.#forgetKnown(record);
        return this.#succession.restore(record);
      },
      forgetKnown: (record) => this.#forgetKnown(record),
      forget: (task) => this.#store.forget(task),
      room: async (signal) => {
        while (this.#atWork.places >= this.#current.options.maxRunning && !signal.aborted)
          await this.#atWork.freed(signal);
      },
      work: (task, options) => {
        this.#atWork.reserve(task);
        return this.#atWork.start(task, task.lastMessage, options);
      },
      refuse: async (task, { message, code }) => {
        task.isAbandoned = code === "cancelled";
        this.#finish(task, () => task.move("failed", [{ text: message }], { code }));
        await task.confirmed;
      },
      cancel: async (task) => {
        this.#finish(task, () => task.move("canceled"));
        await task.confirmed;
        return task.task;
      },
      answer: (record, message, { principal }) =>
        this.#records.isOwn(record)
          ? this.#send(message, { principal, id: record.task.id }).then(() => {})
          : this.#elsewhere.answer(record, message, keepPrincipal(principal)),
      follow: (record, listener, lost) =>
        this.#records.isOwn(record)
          ? this.#followHere(record, listener, lost)
          : this.#elsewhere.follow(record, listener, lost),
      isDraining: () => this.#draining,
      count: (outcome) => this.counts.deliveries.inc({ outcome }),
    };
  }

  /** A task as it is stored, which nobody is told of. */
  #read(record: TaskRecord): LiveTask {
    const { task, owner, skill } = record;
    return new LiveTask({
      id: task.id,
      contextId: task.contextId!,
      owner: { ref: owner },
      skill,
      most: this.#current.options.maxTaskSize,
      record,
    });
  }

  /** What is here of a task is of before. */
  #forgetKnown({ task: { id }, owner }: TaskRecord): void {
    const known = this.find(id, { ref: owner });
    if (known) this.#store.forget(known);
  }

  #followHere(
    { task: { id }, owner }: TaskRecord,
    listener: (event: StreamEvent) => void,
    lost: (error: GatewayError) => void,
  ): () => void {
    try {
      return this.watch(id, { ref: owner }, listener);
    } catch (error) {
      lost(error as GatewayError);
      return () => {};
    }
  }

  #make(given: Omit<LiveTaskOptions, "most" | "hear" | "confirm">): LiveTask {
    const { isKept } = this.#records;
    const task: LiveTask = new LiveTask({
      ...given,
      most: this.#current.options.maxTaskSize,
      hear: (event) => this.#hear(task, event),
      ...(isKept && { confirm: () => this.#keepEnd(task) }),
    });
    return task;
  }

  /** Another gateway that was handed the task meanwhile goes on with it, and this one is refused. */
  async #keepEnd(task: LiveTask): Promise<void> {
    if (task.isForeign) throw refuseElsewhere();
    try {
      await this.#records.save(task, { persists: true });
    } catch (error) {
      task.isForeign =
        task.queued !== undefined && isGatewayError(error) && error.code === "exists";
      throw error;
    }
  }

  async #begin(task: LiveTask, message: Message, options: SendOptions): Promise<LiveTask> {
    const { isAsking } = task;
    const isNew = task.state === "submitted";
    task.take(message);
    this.#store.add(task);
    this.#store.note(task, message);
    if (!isAsking) this.#atWork.reserve(task);
    if (this.#records.isKept) await this.#confirm(task, isNew);
    if (isNew) this.#tell(task, { task: task.task });
    // It may have been cancelled meanwhile.
    if (task.isFinal) this.#atWork.release(task);
    if (task.isFinal) return task;
    if (isAsking) this.#atWork.goOn(task, message, options);
    else void this.#atWork.start(task, message, options);
    return task;
  }

  /** Whoever sends a message is told that it was taken when it is in the store. One that cannot be there was never sent. */
  async #confirm(task: LiveTask, isNew: boolean): Promise<void> {
    const saving = this.#records.save(task, { persists: !isNew });
    this.#arriving.set(task, saving);
    try {
      await saving;
    } catch (error) {
      this.#atWork.release(task);
      this.#store.forget(task);
      throw error;
    } finally {
      this.#arriving.delete(task);
    }
  }

  #finish(task: LiveTask, move: () => void): void {
    move();
    this.#store.weigh(task);
    if (!task.isFinal || task.isForeign) return;
    this.counts.count(task);
    this.#store.file(task);
    this.#store.sweep(this.#current.options, this.#drop);
  }

  readonly #drop = (task: LiveTask): void => void this.#records.drop(task);

  #hear(task: LiveTask, event: StreamEvent): void {
    if (this.#atWork.noteAsking(task)) this.#store.weigh(task);
    this.#tell(task, event);
  }

  #tell(task: LiveTask, event: StreamEvent): void {
    for (const watcher of this.#watchers) watcher(task.task, event, task.owner);
  }
}
