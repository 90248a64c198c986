import type { Principal } from "../call/types.ts";

/**
 * One WebSocket connection as a plugin sees it.
 *
 * @example
 * const accept = (socket: Socket): void => socket.onMessage((text) => socket.send(text));
 * gateway.route("GET", "/echo", { access: "caller", mutates: false, websocket: true }, accept);
 */
export interface Socket {
  readonly principal: Principal;
  readonly url: URL;
  /** Values of the path's parameters, percent-decoded; `{}` for a plain path. */
  readonly params: Readonly<Record<string, string>>;
  /** Bytes handed to `send` and not sent yet. */
  readonly buffered: number;
  /** Sends a text message; does nothing once closed. */
  send(text: string): void;
  /** @param code RFC 6455 section 7.4; default 1000 */
  close(code?: number, reason?: string): void;
  /** Cuts the connection off without a word, for a peer that reads nothing. */
  terminate(): void;
  onMessage(listener: (text: string) => void): void;
  /** Runs once, whoever closed it. */
  onClose(listener: () => void): void;
}
