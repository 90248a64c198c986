import { connectTimeoutOf, type HttpServerConfig, type StdioServerConfig } from "./entry.ts";

/** Longest first start, however often it was ended, in milliseconds. */
const MAX_MS = 300_000;

/**
 * How long a connection may take to be made. `npx`, `uvx` or `docker` install what they start the first time, and one that is
 * ended begins again from nothing: so until it has connected once, each attempt has twice the time of the previous one.
 */
export class FirstStart {
  readonly #config: StdioServerConfig | HttpServerConfig;
  /** Doubled by each attempt that was ended. */
  #factor = 1;
  #isOver = false;

  constructor(config: StdioServerConfig | HttpServerConfig) {
    this.#config = config;
  }

  /** Milliseconds for the next attempt. */
  get limit(): number {
    const limit = connectTimeoutOf(this.#config, !this.#isOver);
    return this.#isLong ? Math.min(limit * this.#factor, MAX_MS) : limit;
  }

  /** What to say meanwhile, if it may take long. */
  get words(): string | undefined {
    if (!this.#isLong) return undefined;
    return `The first start may take up to ${this.limit / 1_000} s; connectTimeout sets this.`;
  }

  get #isLong(): boolean {
    return !this.#isOver && "command" in this.#config && this.#config.connectTimeout === undefined;
  }

  /** It has connected. */
  connected(): void {
    this.#isOver = true;
  }

  /** An attempt was ended because it took too long. */
  late(): void {
    this.#factor += this.#factor;
  }
}
