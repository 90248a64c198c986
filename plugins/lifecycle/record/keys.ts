import { GatewayError, type Principal } from "propylon";
import type { ManagedAgent } from "./agent.ts";

/** What two requests with one key must agree in. */
export interface KeyedRequest {
  readonly contract: string;
  readonly name: string;
  readonly start: boolean;
}

/** Agents by their owner and the `Idempotency-Key` that the owner gave the request. */
export class IdempotencyKeys {
  readonly #known = new Map<
    string,
    { readonly agent: ManagedAgent; readonly request: KeyedRequest }
  >();

  /** A key as it is kept: two owners may choose the same. */
  of(owner: Principal, key: string): string {
    return `${owner.ref}\n${key}`;
  }

  /**
   * The agent that the same request made before.
   *
   * @throws {GatewayError} `invalid` for a key that belongs to another request
   */
  find(key: string, { contract, name, start }: KeyedRequest): ManagedAgent | undefined {
    const known = this.#known.get(key);
    if (!known) return undefined;
    const { agent, request } = known;
    if (request.contract === contract && request.name === name && request.start === start)
      return agent;
    throw new GatewayError("invalid", "This Idempotency-Key belongs to another request.", {
      hint: "Use a new key for every request.",
    });
  }

  /** An agent without a key is not kept. */
  add(agent: ManagedAgent, { contract, name, start }: KeyedRequest): void {
    if (agent.key === undefined) return;
    this.#known.set(agent.key, { agent, request: { contract, name, start } });
  }

  delete({ key }: ManagedAgent): void {
    if (key !== undefined) this.#known.delete(key);
  }
}
