import type { Call } from "./call.ts";
import { Answer } from "./answer.ts";
import { GatewayError } from "../kit/errors.ts";
import type { Json } from "../kit/types.ts";
import { isObject } from "../kit/json.ts";

/** A callee that still asks after so many rounds never ends. */
const MAX_ROUNDS = 10;
const INPUT_REQUIRED = '"input_required"';

/**
 * Whether an answer is a question to the client, not an end (`resultType: "input_required"`, 2026-07-28).
 *
 * @param pieces the answer as encoded for any client, to look into it without parsing
 *
 * @example if (needsInput(answer)) return ask(call, answer);
 */
export function needsInput(answer: Answer, pieces = answer.encode(0)): boolean {
  if (answer.isRaw && !contains(pieces, INPUT_REQUIRED)) return false;
  return answer.result?.["resultType"] === "input_required";
}

/**
 * Whether bytes in pieces contain an ASCII text.
 *
 * @example const mayAsk = contains(answer.encode(0), '"input_required"');
 */
export function contains(pieces: readonly (string | Buffer)[], text: string): boolean {
  const overlap = text.length - 1;
  let tail = "";
  for (const piece of pieces) {
    if (piece.includes(text)) return true;
    // The text may lie across two pieces.
    if (tail !== "" && (tail + latin1(piece, 0, overlap)).includes(text)) return true;
    tail = (tail + latin1(piece, Math.max(0, piece.length - overlap), piece.length)).slice(
      -overlap,
    );
  }
  return false;
}

function latin1(piece: string | Buffer, from: number, to: number): string {
  return typeof piece === "string" ? piece.slice(from, to) : piece.toString("latin1", from, to);
}

/**
 * Answers a callee's questions by asking a legacy client, then calls again with the answers, until the callee is done
 * (docs/decisions/0004).
 *
 * @param repeat runs the call again
 * @throws {GatewayError} `upstream_error` when the callee asks too often or in a broken way
 *
 * @example if (needsInput(answer)) answer = await answerInputs(call, answer, (again) => host.current.call(again));
 */
export async function answerInputs(
  call: Call,
  answer: Answer,
  repeat: (call: Call) => Promise<Answer>,
): Promise<Answer> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { inputRequests, requestState } = answer.result as Json;
    const inputResponses = await askAll(call, inputRequests);
    const params = {
      ...call.params,
      ...(inputResponses && { inputResponses }),
      ...(requestState !== undefined && { requestState }),
    };
    answer = await repeat({ ...call, params });
    if (!needsInput(answer)) return answer;
  }
  throw new GatewayError(
    "upstream_error",
    `${call.server} asked the client more than ${MAX_ROUNDS} times in one call.`,
  );
}

/** A question without requests is a plain "call again" (the callee only wants its state back). */
async function askAll(call: Call, requests: unknown): Promise<Json | undefined> {
  if (requests === undefined) return undefined;
  if (!isObject(requests)) throw brokenRequest(call);
  const asked = Object.entries(requests).map(async ([key, request]) => {
    if (!isObject(request) || typeof request["method"] !== "string") throw brokenRequest(call);
    const params = isObject(request["params"]) ? request["params"] : undefined;
    return [key, await call.peer.ask(request["method"], params)] as const;
  });
  return Object.fromEntries(await Promise.all(asked));
}

function brokenRequest(call: Call): GatewayError {
  return new GatewayError(
    "upstream_error",
    `${call.server} asked for input in a form that is not MCP.`,
  );
}
