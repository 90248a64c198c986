import { GatewayError, type Principal } from "propylon";
import type { ManagedAgent, ManagedAgentOptions } from "./agent.ts";

/** Agents by their owner and the `Idempotency-Key` that the owner gave the request. */
export class IdempotencyKeys {
  readonly #known = new Map<string, ManagedAgent>();

  /** A key as it is kept: two owners may choose the same. */
  of(owner: Principal, key: string): string {
    return `${owner.ref}\n${key}`;
  }

  /**
   * The agent that the same request made before.
   *
   * @throws {GatewayError} `invalid` for a key that belongs to another request
   */
  find(
    key: string,
    { contract, name, start }: Pick<ManagedAgentOptions, "contract" | "name" | "start">,
  ): ManagedAgent | undefined {
    const agent = this.#known.get(key);
    if (!agent) return undefined;
    if (agent.contract === contract && agent.name === name && agent.starts === start) return agent;
    throw new GatewayError("invalid", "This Idempotency-Key belongs to another request.", {
      hint: "Use a new key for every request.",
    });
  }

  /** An agent without a key is not kept. */
  add(agent: ManagedAgent): void {
    if (agent.key !== undefined) this.#known.set(agent.key, agent);
  }

  delete({ key }: ManagedAgent): void {
    if (key !== undefined) this.#known.delete(key);
  }
}
