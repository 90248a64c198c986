import type { Call, Progress } from "propylon";
import { setTicker } from "propylon/kit";
import type { Meter } from "./meter.ts";

/** Says that a silent call still runs, so that nobody takes a long one for a dead one. */
export class Heartbeat {
  readonly #call: Pick<Call, "server" | "name">;
  readonly #meter: Meter;
  readonly #started = performance.now();
  readonly #timer: NodeJS.Timeout;
  #last = 0;

  /** @param interval longest silence in milliseconds */
  constructor(call: Pick<Call, "server" | "name">, interval: number, meter: Meter) {
    this.#call = call;
    this.#meter = meter;
    this.#timer = setTicker(() => this.#beat(), interval);
  }

  /** A report arrived: the silence begins again. */
  heard({ progress }: Progress): void {
    this.#last = progress;
    this.#timer.refresh();
  }

  /** Nothing is said any more. */
  end(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const seconds = Math.round((performance.now() - this.#started) / 1_000);
    const { server, name } = this.#call;
    this.#meter.report({
      progress: this.#last,
      message: `${server}/${name}: still running (${seconds} s)`,
    });
  }
}
