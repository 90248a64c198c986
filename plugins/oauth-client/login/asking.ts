import { randomBytes } from "node:crypto";
import { Answer, type Call, GatewayError } from "propylon";
import { digestOf, isObject } from "propylon/kit";
import { storeKey } from "propylon/store";
import { z } from "zod";
import { PENDING_MS, type ConsentOutcome } from "./pending-logins.ts";
import type { LoginAsking } from "./parts.ts";
import type { Vault } from "../provider/vault.ts";

/** A link to the page that begins a login: of a principal, or one of the gateway's account that waits for a browser. */
export const ticketSchema = z.union([
  z.object({ id: z.string(), server: z.string(), ref: z.string() }),
  z.object({ server: z.string(), pending: z.string() }),
]);
export type Ticket = z.infer<typeof ticketSchema>;

/** What {@link Asking} works with. */
export interface AskingParts {
  readonly tickets: Vault<Ticket>;
  /** Address of the page for a ticket. */
  readonly urlOf: (ticket: string) => string;
}

interface Known {
  readonly ticket: string;
  readonly id: string;
  readonly until: number;
}

type Listener = (outcome: ConsentOutcome) => void;

/** Asks people to log in: through their client where it can show a page, else by a link in the answer. */
export class Asking implements LoginAsking {
  readonly #parts: AskingParts;
  /** One link for all calls that wait for the same login. */
  readonly #links = new Map<string, Known>();
  readonly #waiting = new Map<string, Set<Listener>>();

  constructor(parts: AskingParts) {
    this.#parts = parts;
  }

  async ask(call: Call, server: string, error: GatewayError): Promise<Answer | undefined> {
    const { ticket, id } = await this.#linkFor(server, call.principal.ref);
    const url = this.#parts.urlOf(ticket);
    const message = `Connect your account at "${server}" to go on.`;
    if (canOpen(call)) {
      await this.#open(call, id, { mode: "url", elicitationId: id, url, message }, error);
      return undefined;
    }
    const text = `${message} Open this page: ${url} Then call again.`;
    if (call.method === "tools/call")
      return Answer.result({ content: [{ type: "text", text }], isError: true });
    throw new GatewayError("forbidden", text, { data: { server, login: true } });
  }

  /** A login ended, here or at another replica of the store. */
  ended(id: string, outcome: ConsentOutcome): void {
    for (const [key, known] of this.#links) if (known.id === id) this.#links.delete(key);
    for (const listener of this.#waiting.get(id) ?? []) listener(outcome);
    this.#waiting.delete(id);
  }

  async #linkFor(server: string, ref: string): Promise<Known> {
    const key = storeKey(server, ref);
    const known = this.#links.get(key);
    // Long enough for somebody to read the page.
    if (known && known.until - Date.now() > PENDING_MS / 2) return known;
    for (const [other, { until }] of this.#links) {
      if (until > Date.now()) break;
      this.#links.delete(other);
    }
    const ticket = randomBytes(24).toString("base64url");
    const made = {
      ticket,
      id: randomBytes(12).toString("base64url"),
      until: Date.now() + PENDING_MS,
    };
    this.#links.delete(key);
    this.#links.set(key, made);
    await this.#parts.tickets.put(digestOf(ticket), { id: made.id, server, ref });
    return made;
  }

  async #open(
    call: Call,
    id: string,
    params: Record<string, unknown>,
    error: GatewayError,
  ): Promise<void> {
    const { signal } = call;
    const ended = this.#wait(id, signal);
    ended.catch(() => undefined);
    const { action } = await call.peer.ask("elicitation/create", params, signal);
    if (action !== "accept") throw error;
    const { isDone, reason } = await ended;
    if (!isDone) throw new GatewayError("forbidden", reason ?? error.message, { cause: error });
    call.peer.tell("notifications/elicitation/complete", { elicitationId: id });
  }

  #wait(id: string, signal: AbortSignal): Promise<ConsentOutcome> {
    return new Promise((resolve, reject) => {
      const listeners = this.#waiting.get(id) ?? new Set<Listener>();
      this.#waiting.set(id, listeners);
      const leave = (): void => {
        signal.removeEventListener("abort", aborted);
        clearTimeout(timer);
        listeners.delete(told);
        if (listeners.size === 0 && this.#waiting.get(id) === listeners) this.#waiting.delete(id);
      };
      const told = (outcome: ConsentOutcome): void => {
        leave();
        resolve(outcome);
      };
      const aborted = (): void => {
        leave();
        reject(signal.reason as Error);
      };
      const late = { isDone: false, reason: "Nobody logged in within ten minutes." };
      const timer = setTimeout(() => told(late), PENDING_MS).unref();
      listeners.add(told);
      signal.addEventListener("abort", aborted, { once: true });
      if (signal.aborted) aborted();
    });
  }
}

/** Whether the client can send its person to a page (2025-11-25, URL mode elicitation). */
function canOpen({ peer: { capabilities } }: Call): boolean {
  const { elicitation } = capabilities;
  return isObject(elicitation) && isObject(elicitation["url"]);
}
