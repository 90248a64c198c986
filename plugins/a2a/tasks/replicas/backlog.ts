import { FairQuota } from "propylon/kit";
import type { QueuedItem, WorkQueue } from "propylon/store";
import type { A2aOptions } from "../../options.ts";
import type { TaskOwner } from "../../service.ts";
import { admit } from "../task/admission.ts";
import { groupOf } from "./queue-worker.ts";

/** How old what is known of the queue may be, in milliseconds. */
const MAX_AGE_MS = 1_000;

/** What waits in a queue or is at work, by whose it is, at all replicas: looked up now and then, and counted on in between. */
export class Backlog {
  readonly #queue: WorkQueue;
  #tasks = new FairQuota();
  #bytes = new FairQuota();
  #all = { jobs: 0, bytes: 0 };
  #lookedAt = -Infinity;
  #looking: Promise<void> | undefined;

  constructor(queue: WorkQueue) {
    this.#queue = queue;
  }

  /**
   * Lets a message in, or not.
   * @param size bytes that its task has
   * @throws {GatewayError} `rate_limited`; `unavailable`
   */
  async admit({ ref }: TaskOwner, size: number, options: A2aOptions["tasks"]): Promise<void> {
    if (performance.now() - this.#lookedAt > MAX_AGE_MS)
      await (this.#looking ??= this.#look().finally(() => (this.#looking = undefined)));
    const group = groupOf(ref);
    const own = { jobs: this.#tasks.of(group), bytes: this.#bytes.of(group) };
    admit({
      all: { ...this.#all, atWork: 0 },
      own: { ...own, atWork: 0 },
      options,
      isNew: true,
    });
    this.#count({ key: "", group, size });
  }

  async #look(): Promise<void> {
    const items = await this.#queue.items();
    this.#tasks = new FairQuota();
    this.#bytes = new FairQuota();
    this.#all = { jobs: 0, bytes: 0 };
    for (const item of items) this.#count(item);
    this.#lookedAt = performance.now();
  }

  #count({ group, size }: QueuedItem): void {
    this.#tasks.add(group);
    this.#bytes.add(group, size);
    this.#all.jobs++;
    this.#all.bytes += size;
  }
}
