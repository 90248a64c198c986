import { SseParser } from "./sse.ts";

/** An event of a stream of server-sent events. */
export interface ServerSentEvent {
  /** `message` where the stream says nothing. */
  readonly type: string;
  /** Its lines are joined by spaces: it is taken for JSON, where that means the same as a line break. */
  readonly data: string;
}

/**
 * Server-sent events, one by one. The limit is one of each event: a stream may tell of a task for hours. What ends in the middle of
 * an event is dropped.
 *
 * @param limit most bytes of one event
 * @param onExcess makes the error for an event above the limit
 * @throws what `onExcess` makes, and what the stream fails with
 *
 * @example for await (const { type, data } of readTypedEvents(body, limit, tooLarge)) if (type === "done") return data;
 */
export async function* readTypedEvents(
  chunks: AsyncIterable<Uint8Array>,
  limit: number,
  onExcess: () => Error,
): AsyncIterable<ServerSentEvent> {
  let found: ServerSentEvent[] = [];
  let isExceeded = false;
  const parser = new SseParser(
    {
      event: (data, _length, type) =>
        found.push({ type, data: Buffer.concat(data).toString("utf8") }),
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
