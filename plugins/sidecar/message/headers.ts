import { traceOf } from "propylon/kit";
import { lowerCaseNames } from "propylon/internal";
import type { Headers } from "./transport.ts";

/** The message that a result answers, by the token of its id. */
export const MESSAGE_ID = "Task-Message-Id";
/** `ref` of the principal that handed the task in, on tasks and results. */
export const OWNER = "Task-Owner";

/** What a publisher's header may not reach: the server's own commands, and credentials. */
const WITHHELD = /^(?:nats-|dead-|authorization$|proxy-authorization$|cookie$|x-api-key$)/i;

/** The value of a header, whatever the case of its name. */
export function headerOf(headers: Headers, name: string): string | undefined {
  const wanted = name.toLowerCase();
  return Object.entries(headers).find(([key]) => key.toLowerCase() === wanted)?.[1];
}

/** Headers without commands to the server and without credentials, to be stored beside what they came with. */
export function harmless(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !WITHHELD.test(name)));
}

/** The trace context of a message; nothing else of it is forwarded. */
export function traceHeaders(headers: Headers): Record<string, string> {
  return (traceOf(lowerCaseNames(headers)) ?? {}) as Record<string, string>;
}

/** About how many bytes headers take in a message, with what the server and we add to every one. */
export function sizeOf(headers: Headers): number {
  const own = Object.entries(headers).map(
    ([name, value]) => Buffer.byteLength(name) + Buffer.byteLength(value) + 4,
  );
  return own.reduce((sum, size) => sum + size, 1_024);
}

/** A text as the value of a header: one line, no control characters, not too long. */
export function headerText(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]+/g, " ").slice(0, 1_000);
}
