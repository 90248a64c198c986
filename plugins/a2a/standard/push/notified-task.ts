import { isDeepStrictEqual } from "node:util";
import type { StreamEvent, Task } from "propylon/contract";
import { isSettled } from "../../contract/states.ts";
import { notificationOf, statusKeyOf, withId } from "./notification.ts";
import type { Outbox, PushNotification } from "./outbox.ts";
import {
  type HookRecord,
  type WebhookRecord,
  type WebhookRecords,
  type WebhookTask,
} from "./webhook-records.ts";

/** Events that wait until the webhooks are read; of more only the task as it is then is told. */
const MAX_HELD = 100;

/** A webhook that is told of a task. */
interface Hook {
  readonly config: HookRecord["config"];
  readonly outbox: Outbox;
  told: string | undefined;
}

/** What a task that is told of needs. */
export interface NotifiedTaskHost {
  readonly records: WebhookRecords;
  /** @param ended hears of each notification that was delivered, or failed for good */
  openOutbox(hook: HookRecord, ended: (notification: PushNotification) => void): Outbox;
  /** It is over for this replica, or nobody works on it any more. */
  release(task: NotifiedTask): void;
}

/** A task at work at this replica, as its webhooks hear of it. */
export class NotifiedTask {
  readonly task: WebhookTask;
  readonly #host: NotifiedTaskHost;
  readonly #hooks = new Map<string, Hook>();
  /** What happened before the webhooks were read for the first time. */
  #held: StreamEvent[] | undefined = [];
  /** Of those, the one that is told in place of others. */
  #summary: StreamEvent | undefined;
  #latest: Task;
  /** What is to be read again: the webhooks, and first made this replica's to tell. */
  #wanted: "no" | "look" | "claim" = "no";
  #reading: Promise<void> | undefined;
  #isLeft = false;
  #isTold = true;
  #saving: Promise<void> | undefined;

  constructor(task: WebhookTask, latest: Task, host: NotifiedTaskHost) {
    this.task = task;
    this.#latest = latest;
    this.#host = host;
  }

  get hasHooks(): boolean {
    return this.#hooks.size > 0;
  }

  /** Whether another replica tells its webhooks by now. */
  get isLeft(): boolean {
    return this.#isLeft;
  }

  /** Whether nobody works on it. */
  get isSettled(): boolean {
    return isSettled(this.#latest.status.state);
  }

  /** Takes note of an event, behind which the task is so. */
  hear(event: StreamEvent, latest: Task): void {
    const isFirst = this.#held?.length === 0;
    this.#latest = latest;
    if (this.#held) this.#hold(event, this.#held);
    else this.#tellAll(event);
    // Another replica may have added one that this one was not told of yet.
    if (isFirst || (this.isSettled && this.#host.records.isShared)) void this.#read("claim");
    else if (this.isSettled && !this.#reading) this.#host.release(this);
  }

  /** Reads the webhooks again, since somebody changed them. */
  look(): Promise<void> {
    return this.#read("look");
  }

  /** Resolves when all that was to be told was delivered, or failed for good. */
  async idle(): Promise<void> {
    await this.#reading;
    await Promise.all(this.#outboxes.map((outbox) => outbox.idle()));
    await this.#saving;
  }

  /** Gives up what waits. */
  close(): void {
    for (const outbox of this.#outboxes) outbox.close();
  }

  get #outboxes(): readonly Outbox[] {
    return [...this.#hooks.values()].map(({ outbox }) => outbox);
  }

  #hold(event: StreamEvent, held: StreamEvent[]): void {
    if (held.length < MAX_HELD) held.push(event);
    else this.#held = [(this.#summary = { task: this.#latest })];
  }

  #read(wanted: "look" | "claim"): Promise<void> {
    if (this.#wanted !== "claim") this.#wanted = wanted;
    this.#reading ??= this.#readAll();
    return this.#reading;
  }

  async #readAll(): Promise<void> {
    while (this.#wanted !== "no" && !this.#isLeft) {
      const isClaim = this.#wanted === "claim" || this.#held !== undefined;
      this.#wanted = "no";
      // One that cannot be read is read again with the next change.
      await (isClaim ? this.#claim() : this.#look()).catch(() => {});
    }
    this.#reading = undefined;
    if (this.isLeft || !this.hasHooks || this.isSettled) this.#host.release(this);
  }

  async #claim(): Promise<void> {
    this.#merge(await this.#host.records.claim(this.task));
  }

  async #look(): Promise<void> {
    const { records } = this.#host;
    const record = await records.read(this.task);
    const { replica = "" } = record ?? {};
    this.#isLeft = replica !== "" && replica !== records.replica;
    if (!this.#isLeft) this.#merge(record);
  }

  #merge(record: WebhookRecord | undefined): void {
    const there = new Map(record?.hooks.map((hook) => [hook.config.id, hook]));
    for (const [id, { config, outbox }] of this.#hooks) {
      if (isDeepStrictEqual(there.get(id)?.config, config)) continue;
      outbox.close();
      this.#hooks.delete(id);
    }
    const held = this.#held;
    this.#held = undefined;
    for (const [id, hook] of there) if (!this.#hooks.has(id)) this.#add(id, hook, held);
  }

  /** @param held what happened before the webhooks were read */
  #add(id: string, record: HookRecord, held: readonly StreamEvent[] | undefined): void {
    const { config, told } = record;
    const outbox = this.#host.openOutbox(record, ({ status }) => this.#noteTold(id, status));
    const hook = { config, outbox, told };
    this.#hooks.set(id, hook);
    const [first] = held ?? [];
    const isNew = told === undefined && first !== undefined && !("task" in first);
    const whole = { task: this.#latest };
    for (const event of held && !isNew ? held : [whole])
      this.#tell(id, hook, event, notificationOf(event));
  }

  #tellAll(event: StreamEvent): void {
    if (!this.hasHooks) return;
    const notification = notificationOf(event);
    for (const [id, hook] of this.#hooks) this.#tell(id, hook, event, notification);
  }

  /** A task as a whole is told to those that do not know of its status. */
  #tell(id: string, hook: Hook, event: StreamEvent, notification: PushNotification): void {
    if ("task" in event && event !== this.#summary && knows(hook, event.task)) return;
    hook.outbox.put(withId(notification, this.task.taskId, id));
  }

  #noteTold(id: string, status: string | undefined): void {
    const hook = this.#hooks.get(id);
    if (!hook || status === undefined) return;
    hook.told = status;
    this.#isTold = false;
    this.#saving ??= this.#saveTold();
  }

  /** Several that end at once are one write. */
  async #saveTold(): Promise<void> {
    while (!this.#isTold) {
      this.#isTold = true;
      // What a replica that ends did not write is told again, under its id.
      await this.#host.records
        .persist(this.task, (before) => this.#withTold(before))
        .catch(() => {});
    }
    this.#saving = undefined;
  }

  #withTold(before: WebhookRecord | undefined): WebhookRecord | undefined {
    if (!before) return before;
    const hooks = before.hooks.map((each) => {
      const { config, told } = this.#hooks.get(each.config.id) ?? {};
      const isSame = told !== undefined && isDeepStrictEqual(config, each.config);
      return isSame && told !== each.told ? { ...each, told } : each;
    });
    return hooks.every((hook, at) => hook === before.hooks[at]) ? before : { ...before, hooks };
  }
}

/** Whether a webhook was told of a task as it is. Work that is begun once more begins with an earlier status. */
function knows({ told }: Hook, task: Task): boolean {
  if (told === undefined) return false;
  const { state, timestamp = "" } = task.status;
  const isOld = !isSettled(state) && timestamp < told.slice(told.indexOf(" ") + 1);
  return isOld || told === statusKeyOf({ task });
}
