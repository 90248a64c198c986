import { isObject, SSE_HEADERS, sseFrame } from "propylon/kit";

/**
 * A whole answer as a stream of one event. Answers are always streamed, and a proxy or a small server that cannot stream sends the
 * whole answer, or an error with status 200, as JSON.
 *
 * @returns the response itself unless it is JSON
 */
export async function streamWholeAnswer(response: Response): Promise<Response> {
  const isJson = /^application\/json\b/i.test(response.headers.get("content-type") ?? "");
  if (!response.ok || !isJson) return response;
  const text = await response.text();
  const events = sseFrame(JSON.stringify(toChunk(parse(text)))) + sseFrame("[DONE]");
  return new Response(events, { status: response.status, headers: SSE_HEADERS });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** `message` of a choice is `delta` in a stream, where each tool call says its place. */
function toChunk(answer: unknown): unknown {
  if (!isObject(answer) || !Array.isArray(answer["choices"])) return answer;
  const choices = answer["choices"].map((choice: unknown) => {
    if (!isObject(choice) || !isObject(choice["message"])) return choice;
    const { message, ...others } = choice as { message: Record<string, unknown> };
    return { ...others, delta: withPlaces(message) };
  });
  return { ...answer, choices };
}

function withPlaces(message: Record<string, unknown>): Record<string, unknown> {
  const calls: unknown = message["tool_calls"];
  if (!Array.isArray(calls)) return message;
  const placed = calls.map((call: unknown, index) => (isObject(call) ? { index, ...call } : call));
  return { ...message, tool_calls: placed };
}
