import type { Socket } from "propylon";
import type { Frame } from "./event.ts";
import type { Outlet } from "./stream.ts";

/** Close codes of RFC 6455 section 7.4.1 and the registry it founds. */
const GOING_AWAY = 1001;
const TRY_AGAIN_LATER = 1013;

/** Events as text messages of a WebSocket. The gateway itself sees whether the peer is there. */
export class SocketOutlet implements Outlet {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  get unsent(): number {
    return this.#socket.buffered;
  }

  write({ text }: Frame): void {
    this.#socket.send(text);
  }

  beat(): void {}

  end(overflow: boolean): void {
    if (overflow) this.#socket.close(TRY_AGAIN_LATER, "overflow");
    else this.#socket.close(GOING_AWAY, "closing");
  }

  cut(): void {
    this.#socket.terminate();
  }
}
