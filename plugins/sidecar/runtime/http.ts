import type { fetch as UndiciFetch } from "undici";

/** fetch as the runtime is asked with. */
export interface Http {
  readonly fetch: typeof globalThis.fetch;
  close(): Promise<void>;
}

/** @param limit largest answer in bytes */
export async function openHttp(limit: number): Promise<Http> {
  const { Agent, fetch } = await import("undici");
  // Node's own gives up after five minutes of silence, which a task may well take; ours are bounded by their signal.
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, maxResponseSize: limit });
  const ask = (url: string, init: RequestInit): Promise<unknown> =>
    // A redirect would carry the task, and the runtime's key, to somebody else.
    fetch(url, { ...init, dispatcher: agent, redirect: "manual" } as Parameters<
      typeof UndiciFetch
    >[1]);
  return { fetch: ask as typeof globalThis.fetch, close: () => agent.destroy() };
}
