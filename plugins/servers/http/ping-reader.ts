import { setTimer } from "propylon/kit";
import type { RequestControl, ResponseReader } from "../pool/http-pool.ts";

/** How long a server may take for a ping, in milliseconds. */
const PING_MS = 5_000;
/** Where an answer names its request, in characters. */
const MAX_LOOKED = 64 * 1024;

/** What came in answer to a ping. */
export interface PingOutcome {
  /** Of HTTP; 0 = the connection ended, `undefined` = nothing came in time. */
  readonly status: number | undefined;
  /** Whether the answer has the id of the ping. */
  readonly isNamed: boolean;
}

/** Reads the answer to a ping. */
export class PingReader implements ResponseReader {
  readonly outcome: Promise<PingOutcome>;
  readonly #name: string;
  readonly #timer: NodeJS.Timeout;
  #resolve!: (outcome: PingOutcome) => void;
  #control: RequestControl | undefined;
  #status = 0;
  #text = "";
  #isNamed = false;
  #isOver = false;

  constructor(id: string) {
    this.#name = JSON.stringify(id);
    this.outcome = new Promise((resolve) => (this.#resolve = resolve));
    this.#timer = setTimer(() => this.#giveUp(undefined), PING_MS);
  }

  onRequestStart(control: RequestControl): void {
    this.#control = control;
    if (this.#isOver) control.abort();
  }

  onResponseStart(status: number): void {
    this.#status = status;
  }

  onResponseData(chunk: Buffer): void {
    if (this.#isNamed) return;
    this.#text += chunk.toString("latin1");
    this.#isNamed = this.#text.includes(this.#name);
    if (this.#isNamed) this.#resolve({ status: this.#status, isNamed: true });
    else if (this.#text.length > MAX_LOOKED) this.#giveUp(this.#status);
  }

  onResponseEnd(): void {
    clearTimeout(this.#timer);
    this.#resolve({ status: this.#status, isNamed: this.#isNamed });
    // What comes next on it may be the answer to something else.
    if (!this.#isNamed) this.#control?.abort();
  }

  onResponseError(): void {
    clearTimeout(this.#timer);
    this.#resolve({ status: 0, isNamed: false });
  }

  #giveUp(status: number | undefined): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#resolve({ status, isNamed: false });
    this.#control?.abort();
  }
}
