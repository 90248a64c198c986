import { Answer, type Json, toGatewayError } from "propylon";
import { writeJson } from "propylon/kit";
import { keepError, keptErrorSchema, restoreError } from "propylon/internal";
import { z } from "zod";

/** How every response in {@link TaskEnd} begins; the id stands between 22 and 23. */
const HEAD = '{"jsonrpc":"2.0","id":0,';

/** Form of an end. */
export const endSchema = z.union([
  z.object({ response: z.string().startsWith(HEAD), isInvalid: z.boolean().optional() }),
  z.object({
    error: keptErrorSchema,
  }),
]);

/**
 * How a task ended: with the answer of its server, as a JSON-RPC response with every number as it was, or without one. `isInvalid` says
 * that the arguments were wrong.
 */
export type TaskEnd = Readonly<z.output<typeof endSchema>>;

/** An outcome as it is kept. */
export function toEnd(outcome: Answer | Error): TaskEnd {
  if (outcome instanceof Answer) {
    try {
      return { response: responseOf(outcome), ...(outcome.isInvalid && { isInvalid: true }) };
    } catch (thrown) {
      return toEnd(toGatewayError(thrown));
    }
  }
  return { error: keepError(toGatewayError(outcome)) };
}

/** The answer again; throws what there is in place of one. */
export function answerOfEnd(end: TaskEnd): Answer {
  if ("error" in end) throw restoreError(end.error);
  const answer = Answer.raw({
    chunks: [Buffer.from(end.response)],
    idStart: HEAD.length - 2,
    idEnd: HEAD.length - 1,
  });
  // A tool's words about wrong arguments: only the answer that is made so knows whose fault it was.
  if (!end.isInvalid || !answer.result) return answer;
  return Answer.failed(wordsOf(answer.result), "invalid");
}

/** Bytes that an end takes. */
export function sizeOfEnd(end: TaskEnd | undefined): number {
  if (end === undefined) return 0;
  return Buffer.byteLength("error" in end ? writeJson(end.error) : end.response);
}

function responseOf(answer: Answer): string {
  if (answer.isRpcError) return `${HEAD}"error":${writeJson(answer.error)}}`;
  const pieces = answer.encodeEdited(0, { names: [], change: () => ({}) });
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString("utf8");
}

function wordsOf({ content }: Json): string {
  const [block] = Array.isArray(content) ? (content as Json[]) : [];
  const text = block?.["text"];
  return typeof text === "string" ? text : "";
}
