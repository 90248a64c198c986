import { setTicker } from "propylon/kit";
import { FastResponse } from "srvx";

/** Bytes that may wait in the stream before the next event is asked for. */
const HIGH_WATER = 64 * 1024;
/** Keeps proxies from closing a quiet stream. */
const KEEP_ALIVE_MS = 15_000;

/**
 * Server-sent events, asked for only as fast as the client reads.
 * @param frames finished frames; what they throw cuts the connection, so that no client takes it for the end
 * @param onGone called when the client went away before the end
 */
export function streamFrames(
  frames: AsyncIterator<string>,
  onGone: () => void,
  keepAliveMs = KEEP_ALIVE_MS,
): Response {
  const encoder = new TextEncoder();
  let timer: NodeJS.Timeout | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        timer = setTicker(() => {
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(": ping\n\n"));
        }, keepAliveMs);
      },
      async pull(controller) {
        const { done, value } = await frames.next().catch((error: unknown) => {
          clearInterval(timer);
          throw error;
        });
        if (done !== true) return controller.enqueue(encoder.encode(value));
        clearInterval(timer);
        controller.close();
      },
      cancel() {
        clearInterval(timer);
        onGone();
      },
    },
    { highWaterMark: HIGH_WATER, size: (chunk) => chunk.byteLength },
  );
  return new FastResponse(body, {
    headers: {
      "content-type": "text/event-stream",
      "cache-control": "no-cache",
      "x-accel-buffering": "no",
    },
  });
}
