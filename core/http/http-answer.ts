import { ServerResponse, type IncomingMessage } from "node:http";
import type { Principal } from "../call/types.ts";
import type { Backlog, Unread } from "./backlog.ts";

/** Bytes that may be on their way without being looked at: what the kernel takes a moment later. */
const UNNOTED = 64 * 1024;

/** A response of a listener: knows whom it is for, and tells when its bytes are not taken at once, whichever face wrote them. */
export class HttpAnswer extends ServerResponse implements Unread {
  /** Set by the listener; a test may make one without. */
  backlog: Backlog | undefined = undefined;
  /** Who asked, once that is known. */
  principal: Principal | undefined = undefined;
  #isNoted = false;

  override write(
    chunk: unknown,
    encoding?: BufferEncoding | ((error: Error | null | undefined) => void),
    callback?: (error: Error | null | undefined) => void,
  ): boolean {
    const isTaken = super.write(chunk, encoding as BufferEncoding, callback);
    if (!isTaken) this.#note();
    return isTaken;
  }

  // Node's own signatures: the arguments are passed on as they came.
  override end(chunk?: unknown, encoding?: unknown, callback?: unknown): this {
    super.end(chunk, encoding as BufferEncoding, callback as () => void);
    if (this.writableLength > UNNOTED) this.#note();
    return this;
  }

  get owner(): string | undefined {
    return this.principal?.ref;
  }

  get unread(): number {
    return this.destroyed ? 0 : this.writableLength;
  }

  get progress(): number {
    // What libuv has left of the chunk it writes; Node's own idle timeout looks there too.
    const handle = (this.socket as { _handle?: { writeQueueSize?: number } | null } | null)
      ?._handle;
    return this.writableLength + (handle?.writeQueueSize ?? 0);
  }

  cut(): void {
    this.destroy();
  }

  #note(): void {
    if (this.backlog === undefined) return;
    this.backlog.note(this);
    if (this.#isNoted) return;
    this.#isNoted = true;
    this.once("close", () => this.backlog?.forget(this));
  }
}

/** The answer behind a response of a route, if a listener made it. */
export function answerOf(res: unknown): HttpAnswer | undefined {
  return res instanceof HttpAnswer ? res : undefined;
}

/** The session that the request of an answer named. */
export function sessionOf(answer: Unread): string | undefined {
  const req: IncomingMessage | undefined = answerOf(answer)?.req;
  const id = req?.headers["mcp-session-id"];
  return typeof id === "string" ? id : undefined;
}
