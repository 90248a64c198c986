import type { Call } from "../types.ts";

/**
 * A copy of a call with some members changed, for what a middleware passes on. A spread would do the same, but reads the lazy
 * `signal` and so makes a real AbortSignal, which costs more than the rest of the call.
 */
export function amendCall(call: Call, members: Partial<Call>): Call {
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(call)) as Call;
  return Object.assign(copy, members);
}
