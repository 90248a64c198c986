import { SseBody } from "propylon/kit";
import type { Frame } from "./event.ts";
import type { Outlet } from "./stream.ts";

/** Server-sent events as the body of a response; the channel beats for all. */
export class SseOutlet implements Outlet {
  readonly #body: SseBody;

  /** @param onGone runs once, when the reader left or the stream ended */
  constructor(onGone: () => void) {
    this.#body = new SseBody({ keepAlive: 0, onGone });
  }

  get unsent(): number {
    return this.#body.unsent;
  }

  response(): Response {
    return this.#body.response();
  }

  write({ bytes }: Frame): void {
    this.#body.write(bytes);
  }

  beat(): void {
    this.#body.beat();
  }

  end(): void {
    this.#body.end();
  }

  cut(): void {
    this.#body.cut();
  }
}
