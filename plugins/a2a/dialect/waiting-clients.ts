import { Cancellation } from "propylon/kit";
import { type Abortable, clientGone } from "propylon/internal";

interface Seat {
  count: number;
  readonly cancellation: Cancellation;
}

/** One client that waits for a task. */
export interface WaitingClient {
  /** Ends the task: aborts when the last client of this task went away. */
  readonly signal: Abortable;
  /** The client has its answer. */
  end(): void;
  /** The client went away without it. */
  leave(): void;
}

/**
 * Who waits for which task. Contract v1 has no way to come back for one, so a task ends when nobody waits for it any more; a client
 * that sends its message again meanwhile is one more that waits.
 */
export class WaitingClients {
  readonly #seats = new Map<string, Seat>();

  /** @param gone aborts when the client goes away */
  enter(key: string, gone: Abortable): WaitingClient {
    const seat = this.#seats.get(key) ?? { count: 0, cancellation: new Cancellation() };
    this.#seats.set(key, seat);
    seat.count++;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      gone.removeEventListener("abort", leave);
      if (--seat.count === 0) this.#seats.delete(key);
    };
    const leave = (): void => {
      if (isOver) return;
      end();
      if (seat.count === 0) seat.cancellation.abort(clientGone());
    };
    if (gone.aborted) leave();
    else gone.addEventListener("abort", leave);
    return { signal: seat.cancellation, end, leave };
  }
}
