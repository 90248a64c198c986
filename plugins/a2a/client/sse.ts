import { SseParser } from "propylon";

/**
 * The `data` of server-sent events, one by one. What ends in the middle of an event is dropped.
 *
 * @param limit bytes of one event
 * @param onExcess makes the error for an event above the limit
 */
export async function* readEvents(
  chunks: AsyncIterable<Buffer>,
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
    parser.push(chunk);
    yield* found;
    found = [];
    if (isExceeded) throw onExcess();
  }
}
