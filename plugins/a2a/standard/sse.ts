import { SseBody, sseFrame, writeJson } from "propylon/kit";

/** An event of a stream. The SDK would write numbers beyond 2^53 as texts. */
export function frameOf(event: unknown): string {
  return sseFrame(writeJson(event));
}

/**
 * Server-sent events, asked for only as fast as the client reads.
 * @param frames finished frames; what they throw cuts the connection, so that no client takes it for the end
 * @param onGone called when the client went away before the end
 */
export function streamFrames(
  frames: AsyncIterator<string>,
  onGone: () => void,
  keepAlive?: number,
): Response {
  const body = new SseBody({
    ...(keepAlive !== undefined && { keepAlive }),
    onGone: (how) => how === "left" && onGone(),
  });
  sendAll(frames, body).catch(() => body.cut());
  return body.response();
}

async function sendAll(frames: AsyncIterator<string>, body: SseBody): Promise<void> {
  for (;;) {
    const { done, value } = await frames.next();
    if (done === true) return body.end();
    body.write(value);
    // Frames that are always there would otherwise be read for nobody, forever, in one turn.
    if (!(await body.whenRoom())) return;
  }
}
