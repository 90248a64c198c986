import type { ErrorCode } from "../kit/errors.ts";
import { isObject } from "../kit/json.ts";

/** Longest piece of a message, in UTF-16 code units: with what is round it, below what a topic carries. */
const PIECE = 2_000;
/** How often an answer shows that it is still being made, in milliseconds. */
export const BEAT_MS = 1_000;
/** Without so many signs the replica asked counts as gone. As often it is looked whether one that asks is there: most are answered before. */
export const MAX_BEATS = 5;
export const SILENCE_MS = MAX_BEATS * BEAT_MS;

/** What gateways send each other. Texts longer than a piece come as several: all but the last with `more`, and all but the first of a question with `rest`. */
export type Message = AskMessage | AnswerMessage;

export interface AskMessage {
  readonly id: string;
  /** Among the questions of who asks. Those of versions before have none. */
  readonly place?: number;
  readonly ask: string;
  readonly text: string;
  readonly more?: true;
  readonly rest?: true;
}

export type AnswerMessage = { readonly id: string } & (
  | { readonly part: string; readonly more?: true }
  | { readonly beat: true }
  | { readonly end: true }
  /** `isUnheard`: it was not begun, and will not be. */
  | {
      readonly error: { readonly code: ErrorCode; readonly message: string };
      readonly isUnheard?: true;
    }
  | { readonly cancel: true }
);

/** Whether it is one. */
export function isMessage(message: unknown): message is Message {
  return isObject(message) && typeof message["id"] === "string";
}

/** A text in pieces that a message takes. */
export function* pieces(text: string): Iterable<Pick<AskMessage, "text" | "more" | "rest">> {
  for (let begin = 0; begin === 0 || begin < text.length; begin += PIECE)
    yield {
      text: text.slice(begin, begin + PIECE),
      ...(text.length > begin + PIECE && { more: true }),
      ...(begin > 0 && { rest: true }),
    };
}
