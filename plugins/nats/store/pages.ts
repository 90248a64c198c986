import type { StoreRequest } from "../link/request.ts";
import type { Subjects } from "./subjects.ts";

/** Lists that may be under way at a time. */
const MAX_LISTS = 16;
/** Keys that all of them may hold. */
const MAX_KEYS = 500_000;
/** Changes since the page before that are looked up; behind more of them the keys are asked for again. */
const MAX_CHANGES = 64;

/** What is left of a list of which a page was read. */
interface Rest {
  /** Keys behind {@link after}, in order. */
  readonly keys: readonly string[];
  readonly after: string;
  /** Place in the stream of the newest change that they show. */
  readonly seq: number;
}

/** Keys in order, for lists that are read page by page: the server's list is not asked for again with each page. */
export class Pages {
  readonly #subjects: Subjects;
  readonly #rests = new Map<string, Rest>();

  constructor(subjects: Subjects) {
    this.#subjects = subjects;
  }

  /** Keys behind one, in order, and the place in the stream up to which they were looked for. */
  async keys(
    request: StoreRequest,
    bucket: string,
    prefix: string,
    after: string,
  ): Promise<Omit<Rest, "after">> {
    const name = `${bucket} ${prefix}`;
    const rest = this.#rests.get(name);
    this.#rests.delete(name);
    const filter = this.#subjects.values(bucket, prefix);
    const isWanted = (key: string): boolean => key.startsWith(prefix) && key > after;
    const renewed = rest?.after === after && (await this.#renew(request, rest, filter, isWanted));
    if (renewed) return renewed;
    const { subjects, seq } = await request.subjects(this.#subjects.kvStream, filter);
    const keys = [...subjects.keys()].map((subject) => this.#subjects.keyOf(subject));
    return { keys: keys.filter(isWanted).toSorted(), seq };
  }

  /** Keeps what is left for the next page. */
  keep(bucket: string, prefix: string, rest: Rest): void {
    const size = [...this.#rests.values()].reduce((sum, { keys }) => sum + keys.length, 0);
    if (rest.keys.length === 0 || size + rest.keys.length > MAX_KEYS) return;
    this.#rests.set(`${bucket} ${prefix}`, rest);
    const [oldest] = this.#rests.keys();
    if (this.#rests.size > MAX_LISTS) this.#rests.delete(oldest!);
  }

  /** Adds what was written since; what was deleted since is found to be gone when it is read. */
  async #renew(
    request: StoreRequest,
    { keys, seq: before }: Rest,
    filter: string,
    isWanted: (key: string) => boolean,
  ): Promise<Omit<Rest, "after"> | undefined> {
    const added = new Set<string>();
    let seq = before;
    for (let change = 0; change <= MAX_CHANGES; change++) {
      const query = { seq: seq + 1, next_by_subj: filter };
      const message = await request.find(this.#subjects.kvStream, query);
      if (!message) return { keys: added.size === 0 ? keys : merged(keys, added), seq };
      seq = message.seq;
      const key = this.#subjects.keyOf(message.subject);
      if (isWanted(key)) added.add(key);
    }
    return undefined;
  }
}

function merged(keys: readonly string[], added: ReadonlySet<string>): readonly string[] {
  return [...new Set([...keys, ...added])].toSorted();
}
