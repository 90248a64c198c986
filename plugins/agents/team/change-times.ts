import { digestOf } from "propylon/kit";

/** When the definition of each agent last changed; kept through reloads. */
export class ChangeTimes {
  #known: ReadonlyMap<string, Entry> = new Map();
  #fresh = new Map<string, Entry>();

  /** ISO 8601: the time that is known for this definition, else now. */
  timeOf(name: string, definition: unknown): string {
    const digest = digestOf(JSON.stringify(definition));
    const known = this.#known.get(name);
    const entry = known?.digest === digest ? known : { digest, at: new Date().toISOString() };
    this.#fresh.set(name, entry);
    return entry.at;
  }

  /** Remembers what was asked about since the last time: those definitions are in force now. */
  settle(): void {
    this.#known = this.#fresh;
    this.#fresh = new Map();
  }

  /** Forgets what was asked about by a reload that failed. */
  begin(): void {
    this.#fresh = new Map();
  }
}

interface Entry {
  readonly digest: string;
  readonly at: string;
}
