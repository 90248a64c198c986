import { GatewayError } from "propylon";
import type { Message } from "propylon/contract";
import type { RunningTask, SendOptions, TaskOwner } from "../service.ts";
import { admit } from "./task/admission.ts";
import type { LiveTask } from "./task/live-task.ts";
import type { LocalTasks } from "./task/local-tasks.ts";
import { refuseLost, refuseMessage, refuseReuse } from "./task/refusals.ts";
import type { Succession } from "./replicas/succession.ts";

/** How messages are taken where the replica works on a task that its message came to. */
export class HereExecution {
  readonly #tasks: LocalTasks;
  readonly #succession: Succession;
  /** Messages that are not in the store yet. */
  readonly #arriving = new Map<LiveTask, Promise<void>>();

  constructor(tasks: LocalTasks, succession: Succession) {
    this.#tasks = tasks;
    this.#succession = succession;
  }

  async send(message: Message, options: SendOptions): Promise<RunningTask> {
    // Without a store a message is taken in the turn in which it comes.
    if (this.#tasks.records.isKept) await this.#succession.fetch(message, options);
    if (this.#tasks.isDraining) throw new GatewayError("draining", "The runtime is shutting down.");
    const known = this.#findFor(message, options);
    if (known?.hasTaken(message)) {
      await this.#arriving.get(known);
      const mayRedo = known.isForsaken || known.isAbandoned;
      return mayRedo ? this.#redo(known, message, options) : known;
    }
    if (known && !this.#tasks.waits(known))
      throw known.knowsIdOf(message) ? refuseReuse() : refuseMessage(known);
    if (!known && options.continues) throw refuseLost();
    this.#admit(options.principal, known === undefined);
    return this.#begin(known ?? this.#tasks.create(message, options), message, options);
  }

  /** Somebody who went away without an answer is back: a queue delivers again what it has no result of. */
  async #redo(task: LiveTask, message: Message, options: SendOptions): Promise<RunningTask> {
    await task.settled;
    if (!task.isAbandoned && task.state !== "canceled") return task;
    if (!task.isAbandoned) this.#tasks.store.drop(task);
    if (!task.isAbandoned || !this.#succession.rewind(task)) await this.#tasks.records.delete(task);
    return this.send(message, options);
  }

  /**
   * The task that a message is for, if it is there.
   * @throws {GatewayError} `not_found` when it names one that is not, and is not allowed to make it; `exists` for a message that names
   * none and has the id of another one, whose task has not ended
   */
  #findFor(message: Message, { id, principal }: SendOptions): LiveTask | undefined {
    const wanted = id ?? message.taskId;
    const known = wanted === undefined ? undefined : this.#tasks.find(wanted, principal);
    if (known) return known;
    if (id === undefined && message.taskId !== undefined)
      return this.#tasks.get(message.taskId, principal);
    // A caller that chooses ids means by another id another task. One that does not may use a message's id again once its task is
    // over, as the public kit of A2A does: it gets a new one.
    const met = id === undefined ? this.#tasks.store.findByMessage(message, principal) : undefined;
    if (!met || met.isFinal) return undefined;
    if (!met.hasTaken(message)) throw refuseReuse();
    return met;
  }

  #admit(owner: TaskOwner, isNew: boolean): void {
    const { store, atWork, current } = this.#tasks;
    this.#tasks.makeRoom();
    admit({
      all: { jobs: store.live, bytes: store.bytes, atWork: atWork.places },
      own: { ...store.liveOf(owner), atWork: atWork.placesOf(owner) },
      options: current.options,
      isNew,
    });
  }

  async #begin(task: LiveTask, message: Message, options: SendOptions): Promise<LiveTask> {
    const { store, atWork, records } = this.#tasks;
    const { isAsking } = task;
    const isNew = task.state === "submitted";
    task.take(message);
    store.add(task);
    store.note(task, message);
    if (!isAsking) atWork.reserve(task);
    const prepare = isNew ? options.prepare : undefined;
    if (records.isKept || prepare) await this.#confirm(task, isNew, prepare);
    if (isNew) this.#tasks.tell(task, { task: task.task });
    // It may have been cancelled meanwhile.
    if (task.isFinal) atWork.release(task);
    if (task.isFinal) return task;
    if (isAsking) atWork.goOn(task, message, options);
    else void atWork.start(task, message, options);
    return task;
  }

  /** The sender of a message is told that it was taken when it is in the store. One that cannot be there was never sent. */
  async #confirm(task: LiveTask, isNew: boolean, prepare: SendOptions["prepare"]): Promise<void> {
    const { store, atWork, records } = this.#tasks;
    const save = (): Promise<void> => records.save(task, { persists: !isNew });
    const saving = prepare ? prepare(task).then(save) : save();
    this.#arriving.set(task, saving);
    try {
      await saving;
    } catch (error) {
      atWork.release(task);
      store.drop(task);
      throw error;
    } finally {
      this.#arriving.delete(task);
    }
  }
}
