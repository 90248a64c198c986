import type { PluginContext } from "propylon";
import { Buckets, ExpiringMap } from "propylon/kit";
import { Mismatch } from "./faults.ts";
import { GrantRefused } from "./grants.ts";

/** A failure of one kind is told so often at most. */
const QUIET_MS = 60_000;
/** Most kinds that are remembered. */
const MAX_KINDS = 1_000;
/** Warnings of one server at once, and then in a minute: it decides how many kinds there are. */
const MAX_WARNINGS = 10;

/** What of a login failed. */
export type FailedStep = "start" | "redirect" | "code" | "refresh" | "credentials";

/**
 * Tells the operator why logins fail: what was expected, and what came. A caller who may begin a login, and a server that refuses one,
 * must not fill the log: each kind of failure has one warning a minute, and each server ten; the others are for `debug`.
 */
export class FailedLogins {
  readonly #log: PluginContext["log"];
  readonly #told = new ExpiringMap<true>(MAX_KINDS);
  readonly #warnings = new Buckets(MAX_WARNINGS, QUIET_MS / MAX_WARNINGS);

  constructor(log: PluginContext["log"]) {
    this.#log = log;
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
    const kind = [server, step, reason].join("\n");
    const level = this.#isNews(server, kind) ? "warn" : "debug";
    this.#log[level]({ server, step, reason, expected, came }, "a login failed");
  }

  #isNews(server: string, kind: string): boolean {
    if (this.#told.get(kind) || this.#warnings.take(server, performance.now()) > 0) return false;
    this.#told.set(kind, true, Date.now() + QUIET_MS);
    return true;
  }
}

function mismatchOf(error: unknown): Mismatch | undefined {
  if (error instanceof GrantRefused) return error.mismatch;
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Mismatch ? cause : undefined;
}
