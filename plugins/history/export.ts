import { setImmediate } from "node:timers/promises";
import { Entry, showEntry } from "./entry.ts";
import { isWanted, type Filter, type MayKnow } from "./query.ts";
import type { Ring } from "./ring.ts";
import type { Secrets } from "./secrets.ts";

/** Characters handed over at once. */
const CHUNK = 65_536;
/** Calls looked at before others get their turn. */
const LOOKED_AT = 1_000;

/** What an export is made from. */
export interface ExportSource {
  readonly ring: Ring;
  readonly secrets: Secrets;
  readonly filter: Filter;
  readonly isOperator: boolean;
  readonly mayKnow: MayKnow;
}

/**
 * The calls up to now as JSON lines, oldest first. A line is made when the reader has taken those before it; calls that made room
 * for newer ones meanwhile are left out, so that a slow reader holds nothing.
 */
export function exportLines({
  ring,
  secrets,
  filter,
  isOperator,
  mayKnow,
}: ExportSource): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const end = ring.next;
  let number = ring.oldest;
  const chunk = (): string => {
    let text = "";
    number = Math.max(number, ring.oldest);
    const stop = Math.min(end, number + LOOKED_AT);
    for (; number < stop && text.length < CHUNK; number++) {
      const entry = new Entry(number, ring.read(number)!);
      if (isWanted(entry, filter) && mayKnow(entry))
        text += `${JSON.stringify(showEntry(entry, secrets, isOperator))}\n`;
    }
    return text;
  };
  return new ReadableStream(
    {
      async pull(controller) {
        let text = chunk();
        while (text === "" && number < end) {
          await setImmediate();
          text = chunk();
        }
        if (text === "") controller.close();
        else controller.enqueue(encoder.encode(text));
      },
    },
    { highWaterMark: 0 },
  );
}
