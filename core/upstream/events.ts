import { SseParser } from "./sse.ts";

/**
 * The `data` of server-sent events, one by one. The limit is one of each event: a stream may tell of a task for hours. What ends
 * in the middle of an event is dropped.
 *
 * @param limit most bytes of one event
 * @param onExcess makes the error for an event above the limit
 * @throws what `onExcess` makes, and what the stream fails with
 */
export async function* readEvents(
  chunks: AsyncIterable<Uint8Array>,
  limit: number,
  onExcess: () => Error,
): AsyncIterable<string> {
  let found: string[] = [];
  let isExceeded = false;
  const parser = new SseParser(
    {
      event: (data) => found.push(Buffer.concat(data).toString("utf8")),
      overflow: () => (isExceeded = true),
    },
    limit,
  );
  for await (const chunk of chunks) {
    parser.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    yield* found;
    found = [];
    if (isExceeded) throw onExcess();
  }
}
