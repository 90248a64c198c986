/**
 * The `data` of server-sent events, one by one (HTML standard, section 9.2.6). What ends in the middle of an event is dropped.
 *
 * @param limit characters of one event
 * @param onExcess makes the error for an event above the limit
 */
export async function* readEvents(
  chunks: AsyncIterable<Buffer>,
  limit: number,
  onExcess: () => Error,
): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let rest = "";
  let data: string[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop()!;
    if (size + rest.length > limit) throw onExcess();
    for (const line of lines) {
      const text = line.endsWith("\r") ? line.slice(0, -1) : line;
      if (text === "") {
        if (data.length > 0) yield data.join("\n");
        data = [];
        size = 0;
      } else if (text.startsWith("data:")) {
        data.push(text.slice(text[5] === " " ? 6 : 5));
        size += text.length;
        if (size > limit) throw onExcess();
      }
    }
  }
}
