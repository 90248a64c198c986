import type { ResponseReader } from "./http-pool.ts";

/** Reads an answer nobody needs, so that its socket can be used again. */
export class Discard implements ResponseReader {
  readonly #failed: (error: Error, sent: boolean) => void;
  readonly #ended: (status: number) => void;
  #sent = false;
  #status = 0;

  /**
   * @param failed the network failed; `sent` tells whether the request may have gone out
   * @param ended the response is complete
   */
  constructor(
    failed: (error: Error, sent: boolean) => void,
    ended: (status: number) => void = () => undefined,
  ) {
    this.#failed = failed;
    this.#ended = ended;
  }

  onRequestStart(): void {
    this.#sent = true;
  }

  onResponseStart(status: number): void {
    this.#status = status;
  }

  onResponseEnd(): void {
    this.#ended(this.#status);
  }

  onResponseError(error: Error): void {
    this.#failed(error, this.#sent);
  }
}
