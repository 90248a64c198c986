import { GatewayError, type RouteEvent } from "propylon";
import { digestOf } from "propylon/kit";
import { type Kv, storeKey } from "propylon/store";

/** How long an answer is known, in milliseconds. */
export const KNOWN_FOR_MS = 86_400_000;
/** Longest key, in characters. */
const MAX_KEY = 255;

/** What is known of a request that carried an `Idempotency-Key`: never its answer's token. */
export interface KnownRequest {
  /** SHA-256 of what was asked for. */
  readonly asked: string;
  /** Absent while it runs, or when its process died meanwhile. */
  readonly status?: number;
}

/**
 * Requests that are sent again because their answers got lost (draft-ietf-httpapi-idempotency-key-header). The second is answered
 * with the status of the first and what may be known for good; a token that was in the first answer is shown to nobody again.
 */
export class Idempotency {
  readonly #known: Kv<KnownRequest>;

  constructor(known: Kv<KnownRequest>) {
    this.#known = known;
  }

  /**
   * @param body what was asked for, with which a key belongs together
   * @param first does it, and answers
   * @param again answers a repetition, given the first status
   * @throws {GatewayError} `exists` while the first runs; `invalid` for a key that was used for something else
   */
  async run(
    event: RouteEvent,
    body: unknown,
    first: () => Promise<Response>,
    again: (status: number) => Promise<Response>,
  ): Promise<Response> {
    const key = keyOf(event);
    if (key === undefined) return first();
    const asked = digestOf(JSON.stringify(body));
    const rev = await this.#known.create(key, { asked });
    if (rev === undefined) return again(await this.#statusOf(key, asked));
    try {
      const response = await first();
      await this.#known.update(key, { asked, status: response.status }, rev).catch(() => {});
      return response;
    } catch (error) {
      // It changed nothing, so it may be tried again.
      await this.#known.delete(key, rev).catch(() => {});
      throw error;
    }
  }

  async #statusOf(key: string, asked: string): Promise<number> {
    const entry = await this.#known.get(key);
    if (entry && entry.value.asked !== asked)
      throw new GatewayError("invalid", "This Idempotency-Key was used for another request.", {
        hint: "Make a new key for each request.",
      });
    if (entry?.value.status !== undefined) return entry.value.status;
    throw new GatewayError("exists", "The first request with this Idempotency-Key has not ended.", {
      hint: "Look whether it took effect, and use a new key to do it again.",
      headers: { "retry-after": "1" },
    });
  }
}

/** Of one principal and one resource: keys of others are nothing to go by. */
function keyOf({ req, context, url }: RouteEvent): string | undefined {
  const given = req.headers.get("idempotency-key");
  if (given === null) return undefined;
  if (given === "" || given.length > MAX_KEY)
    throw new GatewayError("invalid", `An Idempotency-Key has 1 to ${MAX_KEY} characters.`);
  const path = url.pathname.replace(/\/$/, "");
  return storeKey(JSON.stringify([context.principal.ref, req.method, path, given]));
}
