import { isWithinDepth, parseExact } from "propylon/kit";
import { Failure } from "../message/failure.ts";

/** Deepest nesting of what the runtime answers. */
const MAX_DEPTH = 64;

/**
 * The value of a JSON text of the runtime. A deep one would overflow the stack of code that walks it, e.g. where a result is
 * written.
 *
 * @throws {Failure} `invalid_answer` for one that nests too deep; `SyntaxError`
 */
export function parseAnswer(text: string): unknown {
  if (isWithinDepth(Buffer.from(text), MAX_DEPTH)) return parseExact(text);
  const message = `The runtime's answer nests deeper than ${MAX_DEPTH} levels.`;
  throw new Failure("invalid_answer", message);
}

/** More than `runtime.limit`. The runtime did its work, and would do it again: another run does not make it less. */
export function excess(what: string, limit: number): Failure {
  return new Failure("result_too_large", `${what} of the runtime has more than ${limit} bytes.`);
}
