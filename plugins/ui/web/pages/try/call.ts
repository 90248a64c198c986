import type { ManualCall } from "propylon/plugins/admin";
import { readEvents } from "../../events.ts";
import { parseExact } from "../../kit/json.ts";
import { failureFrom, RequestFailure, send, type Route } from "../../request.ts";

/** Calls a tool as the page does it: with progress, and cancelled by closing the stream. */
export const CALL: Route = "POST /_meta/calls";

/** Body of {@link CALL}; the arguments are whatever was typed. */
export type CallBody = Omit<ManualCall, "arguments" | "interactive"> & {
  readonly arguments?: unknown;
};

/** What a tool asks while it runs: anything may stand in `params`. */
export interface Question {
  readonly id: string;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** What is heard of a call before its end. */
export interface CallListener {
  readonly onReport: (report: Report) => void;
  readonly onQuestion: (question: Question) => void;
  /** Nobody waits for an answer to this question any more. */
  readonly onClosed: (id: string) => void;
}

/** What a tool reports while it runs. */
export interface Report {
  readonly progress: number;
  readonly total?: number | null;
  readonly message?: string | null;
}

/** What a tool answered (MCP, CallToolResult), what is in a resource, or the messages of a prompt. */
export interface ToolResult {
  readonly content?: readonly Block[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly contents?: readonly NonNullable<Block["resource"]>[];
  readonly messages?: readonly { readonly role?: string; readonly content?: Block }[];
}

/** A piece of a result. */
export interface Block {
  readonly type: string;
  readonly text?: string;
  readonly data?: string;
  readonly mimeType?: string;
  readonly uri?: string;
  readonly name?: string;
  readonly resource?: {
    readonly uri?: string;
    readonly text?: string;
    readonly blob?: string;
    readonly mimeType?: string;
  };
}

/** Size beyond which a result is not taken: the page would not survive showing it. */
const MAX_RESULT = 64 * 1024 * 1024;

/**
 * Calls a tool, reads a resource or gets a prompt.
 *
 * @throws {RequestFailure} as the gateway refused it, or when the stream ended without an answer
 */
export async function callTool(
  body: CallBody,
  { onReport, onQuestion, onClosed }: CallListener,
  signal: AbortSignal,
): Promise<ToolResult> {
  const headers = { accept: "text/event-stream" };
  const interactive = { ...body, interactive: true };
  const answer = await send(CALL, { body: interactive, headers, signal });
  for await (const { event, data } of readEvents(limited(answer.body!))) {
    if (event === "progress") onReport(JSON.parse(data) as Report);
    else if (event === "question") onQuestion(parseExact(data) as Question);
    else if (event === "closed") onClosed((JSON.parse(data) as Question).id);
    else if (event === "error") throw failureFrom(data, 502);
    else if (event === "result") return (parseExact(data) as { result: ToolResult }).result;
  }
  throw new RequestFailure("The connection ended before the answer came.", {
    code: "network",
    status: 0,
    hint: "The call may have run. Look at the activity before you repeat it.",
    requestId: undefined,
    data: undefined,
  });
}

function limited(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  let size = 0;
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        size += chunk.length;
        if (size > MAX_RESULT) controller.error(new Error("The result is too large for a page."));
        else controller.enqueue(chunk);
      },
    }),
  );
}
