import { showEntry, type Entry } from "./entry.ts";
import type { Secrets } from "./secrets.ts";

/** Characters handed over at once. */
const CHUNK = 65_536;

/** Entries as JSON lines. A line is made when the reader has taken those before it. */
export function exportLines(
  entries: readonly Entry[],
  secrets: Secrets,
  isOperator: boolean,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let at = 0;
  const chunk = (): string => {
    let text = "";
    while (at < entries.length && text.length < CHUNK)
      text += `${JSON.stringify(showEntry(entries[at++]!, secrets, isOperator))}\n`;
    return text;
  };
  return new ReadableStream(
    {
      pull(controller) {
        const text = chunk();
        if (text === "") controller.close();
        else controller.enqueue(encoder.encode(text));
      },
    },
    { highWaterMark: 0 },
  );
}
