import type { PluginContext } from "propylon";
import { BoundedLog } from "propylon/internal";
import { Mismatch } from "../provider/faults.ts";
import { GrantRefused } from "../provider/grants.ts";

/** What of a login failed. */
export type FailedStep = "start" | "redirect" | "code" | "refresh" | "credentials";

/**
 * Tells the operator why logins fail: what was expected, and what came. A caller who may begin a login, and a server that refuses one,
 * must not fill the log: the same failure is a warning once a minute, and each server has ten; the others are for `debug`.
 */
export class FailedLogins {
  readonly #log: BoundedLog;

  constructor(log: PluginContext["log"]) {
    this.#log = new BoundedLog(
      (facts, message) => log.warn(facts, message),
      (facts, message) => log.debug(facts, message),
    );
  }

  /** Does a part of a login, and tells if that fails. */
  async watch<T>(server: string, step: FailedStep, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.tell(server, step, error);
      throw error;
    }
  }

  /** Tells of a failure. */
  tell(server: string, step: FailedStep, error: unknown): void {
    const reason = error instanceof Error ? error.message : "an error";
    const { expected, came } = mismatchOf(error) ?? {};
    const facts = { server, step, reason, expected, came };
    this.#log.tell(server, facts, "a login failed", `${step} ${reason}`);
  }
}

function mismatchOf(error: unknown): Mismatch | undefined {
  if (error instanceof GrantRefused) return error.mismatch;
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Mismatch ? cause : undefined;
}
