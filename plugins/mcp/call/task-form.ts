import { type Json, toGatewayError } from "propylon";
import { writeJson } from "propylon/kit";
import { type RpcError, toRpcError } from "propylon/internal";
import { answerOfEnd, type SharedTask } from "propylon/plugins/tasks";
import { META_SERVER_INFO } from "../message/protocol.ts";
import { encodeModern } from "../message/reply.ts";

/** Longest words of a tool about its state, in characters. */
const MAX_MESSAGE = 1_000;

/** What is said of a task besides itself. */
export interface TaskFrame {
  readonly pollInterval: number;
  readonly serverInfo: Json;
}

/** What every message about a task says of it (SEP-2663). */
export function toWire(task: SharedTask, { pollInterval }: TaskFrame): Json {
  const { message } = task;
  return {
    taskId: task.id,
    status: task.state,
    ...(message !== undefined && { statusMessage: message.slice(0, MAX_MESSAGE) }),
    createdAt: task.createdAt,
    lastUpdatedAt: task.updatedAt,
    ttlMs: Math.ceil(task.ttl),
    pollIntervalMs: Math.max(1, Math.round(pollInterval)),
  };
}

/** A task with its questions, and its result or error, as the text of a JSON object. */
export function detailText(task: SharedTask, frame: TaskFrame, others: Json): string {
  const inputRequests = Object.fromEntries(task.questions);
  const head = writeJson({
    ...others,
    ...toWire(task, frame),
    ...(task.questions.size > 0 && { inputRequests }),
  });
  return `${head.slice(0, -1)}${endText(task, frame.serverInfo)}}`;
}

/** The result stays the text it is: its numbers may be larger than JavaScript's. */
function endText({ end, state }: SharedTask, serverInfo: Json): string {
  if (end === undefined || state === "cancelled") return "";
  try {
    const answer = answerOfEnd(end);
    if (answer.isRpcError) return member("error", answer.error!);
    const frame = {
      method: "tools/call",
      callee: () => undefined,
      serverInfo,
      bind: (given: string) => given,
    } as const;
    const { pieces } = encodeModern(answer, 0, frame);
    const message = Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString("utf8");
    return `,${message.slice(message.indexOf('"result":'), -1)}`;
  } catch (thrown) {
    return member("error", toRpcError(toGatewayError(thrown)));
  }
}

function member(name: string, value: RpcError): string {
  return `,${JSON.stringify(name)}:${writeJson(value)}`;
}

/** `_meta` of what the gateway says itself. */
export function ownMeta(serverInfo: Json): Json {
  return { [META_SERVER_INFO]: serverInfo };
}
