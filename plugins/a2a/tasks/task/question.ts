import { GatewayError, toGatewayError } from "propylon";
import type { Cancellation } from "propylon/kit";
import type { Message } from "propylon/contract";

/** How a question ended. */
export type QuestionEnd = "answered" | "withdrawn" | "aborted";

/** A question of a call under way, which waits for the answer: a message of the task. */
export class TaskQuestion {
  /** Rejects with a GatewayError: why the task ended meanwhile, or `cancelled` when it was taken back. */
  readonly answer: Promise<Message>;
  #settle: (answer: Message | GatewayError) => void = () => {};
  #isOpen = true;
  readonly #end: (how: QuestionEnd, answer: Message | GatewayError) => void;

  /**
   * @param cancellation ends the task
   * @param signal takes the question back
   * @param ended called once, at once when it ends
   */
  constructor(
    cancellation: Cancellation,
    signal: AbortSignal | undefined,
    ended: (how: QuestionEnd) => void,
  ) {
    this.answer = new Promise((resolve, reject) => {
      this.#settle = (answer) => (answer instanceof Error ? reject(answer) : resolve(answer));
    });
    const abort = (): void => this.#end("aborted", toGatewayError(cancellation.reason));
    const withdraw = (): void => this.withdraw();
    this.#end = (how, answer) => {
      if (!this.#isOpen) return;
      this.#isOpen = false;
      cancellation.removeEventListener("abort", abort);
      signal?.removeEventListener("abort", withdraw);
      ended(how);
      this.#settle(answer);
    };
    cancellation.addEventListener("abort", abort);
    signal?.addEventListener("abort", withdraw);
    if (cancellation.aborted) abort();
    else if (signal?.aborted) withdraw();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Answers it; does nothing once it has ended. */
  take(message: Message): void {
    this.#end("answered", message);
  }

  /** Nobody wants the answer any more. */
  withdraw(): void {
    this.#end("withdrawn", new GatewayError("cancelled", "The question was withdrawn."));
  }
}
