import type { ProbedGateway } from "./gateway.ts";
import type { Scene } from "./scene.ts";
import type { Shaped } from "./shapes.ts";

/** Where inputs are sent: a gateway, and whom it talks to. */
export interface Place {
  readonly gateway: ProbedGateway;
}

/** A place where something from outside comes in. */
export interface Input<P extends Place = Scene> {
  readonly name: string;
  /** What a good sender sends. */
  readonly sample: unknown;
  /** What a hostile one sends; default: everything hostile in each place of the sample. */
  readonly shapes?: readonly Shaped[];
  /** How large they are, in bytes, where much less than a body is taken. */
  readonly sizes?: readonly number[];
  /** How many are tried to find the worst; default: 150. */
  readonly tried?: number;
  /** How much memory it may take, in bytes, where a thread or a run has a bound of its own; default: 20 times the input. */
  readonly memory?: number;
  /** `METHOD /path` of the request that it is. */
  readonly route?: string;
  /** Sends bytes in its place; resolves when whoever sent them heard the end of it. */
  send(place: P, bytes: Buffer): Promise<void>;
}

/** A request with a JSON body, whatever is answered. */
export function request(
  method: string,
  path: string,
  sample: unknown,
  headers: Readonly<Record<string, string>> = {},
): Input<Place> {
  return {
    name: `${method} ${path}`,
    sample,
    route: `${method} ${path.split("#", 1)[0]}`,
    async send({ gateway }, bytes) {
      await exchange(gateway.url + path, method, bytes, headers);
    },
  };
}

/** How long an event stream may be silent, in milliseconds, before it is left: some have no end. */
const SILENCE_MS = 500;
/** How long anything else may take. */
const PATIENCE_MS = 60_000;

/**
 * Makes a request and reads its answer to the end, which may also be a closed connection.
 *
 * @returns the status, if there was an answer
 */
export async function exchange(
  url: string,
  method: string,
  body: Buffer | undefined,
  headers: Readonly<Record<string, string>> = {},
): Promise<number | undefined> {
  const leaving = new AbortController();
  const late = setTimeout(() => leaving.abort(new Error("late")), PATIENCE_MS);
  try {
    const response = await fetch(url, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(body && { body: new Uint8Array(body) }),
      signal: leaving.signal,
    });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    await read(response, isStream ? leaving : undefined);
    return response.status;
  } catch (error) {
    // Others: refused while it was still sending, or a stream that was left.
    if ((error as Error).message === "late") throw error;
    return undefined;
  } finally {
    clearTimeout(late);
  }
}

async function read({ body }: Response, leaving: AbortController | undefined): Promise<void> {
  const leave = (): void => leaving?.abort();
  let silence = setTimeout(leave, SILENCE_MS);
  try {
    for await (const chunk of body ?? []) {
      void chunk;
      clearTimeout(silence);
      silence = setTimeout(leave, SILENCE_MS);
    }
  } finally {
    clearTimeout(silence);
  }
}
