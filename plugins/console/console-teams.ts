import { randomUUID } from "node:crypto";
import { GatewayError, toGatewayError } from "propylon";
import { type Store, storeKey } from "propylon/store";
import type { KeyedQueue } from "./data/keyed-queue.ts";
import { type TeamParts, TeamSync } from "./team-sync.ts";

/** Time after which another replica of the store may work for an instance whose gateway died, in milliseconds. */
const LEASE_MS = 10_000;

/** What {@link ConsoleTeams} works with. */
export interface ConsoleTeamsOptions extends TeamParts {
  readonly store: Store;
  readonly queue: KeyedQueue;
  /** Aborts when the plugin ends. */
  readonly signal: AbortSignal;
}

/** The teams at the issuer, by the ids of their instances: one piece of work at a time for each, in all replicas of the store. */
export class ConsoleTeams {
  readonly #options: ConsoleTeamsOptions;

  constructor(options: ConsoleTeamsOptions) {
    this.#options = options;
  }

  /**
   * Tells the issuer what has changed here: makes a team, deletes it, or sends its whole list of workspaces as it is when it goes out.
   *
   * @returns whether something was not as it should be
   * @throws {GatewayError}
   */
  sync(id: string): Promise<boolean> {
    return this.#work(id, "sync", (sync) => sync.run(false));
  }

  /** The same, and looks first how the team is at the issuer. */
  check(id: string): Promise<boolean> {
    return this.#work(id, "check", (sync) => sync.run(true));
  }

  /** Replaces a token; a gateway that asks at once with another gets the same one. @throws {GatewayError} */
  rotate(id: string): Promise<void> {
    return this.#work(id, "rotate", (sync) => sync.rotate());
  }

  /**
   * The token of a team, once for each token.
   *
   * @throws {GatewayError} `not_found` without one, `exists` when it was shown before, `invalid` when its key is not there
   */
  async reveal(id: string): Promise<string> {
    const { instances, rows, sealer, log } = this.#options;
    const { team_jwt: sealed, revealed_at: revealedAt } = await instances.get(id);
    if (sealed === null)
      throw new GatewayError("not_found", "This instance has no token.", {
        hint: "POST /api/v1/pallas/:id/provision asks the issuer for one.",
      });
    // Opened first: a token that cannot be read must not count as shown.
    const jwt = revealedAt === null ? sealer.open(sealed) : undefined;
    if (jwt === undefined || !(await rows.markRevealed(id, sealed)))
      throw new GatewayError("exists", "This token was shown already, and is not shown again.", {
        hint: "POST /api/v1/pallas/:id/rotate makes a new one; the old one ends then.",
      });
    log.info({ team: id }, "pallas_team_revealed");
    return jwt;
  }

  /**
   * What follows a change that is in the tables: the issuer is told, at best. A failure is logged and is the reconciler's from then on.
   *
   * @returns whether all of it is in force
   */
  async follow(hook: string, ids: readonly string[]): Promise<boolean> {
    const attempts = ids.map((id) => this.#attempt(hook, id));
    return (await Promise.all(attempts)).every(Boolean);
  }

  async #attempt(hook: string, id: string): Promise<boolean> {
    const { log, signal } = this.#options;
    try {
      await this.sync(id);
      return true;
    } catch (error) {
      const { code, message } = toGatewayError(error);
      if (!signal.aborted) log.warn({ hook, team: id, code, reason: message }, "team hook failed");
      return false;
    }
  }

  #work<T>(team: string, kind: string, work: (sync: TeamSync) => Promise<T>): Promise<T> {
    const { queue, store, signal } = this.#options;
    return queue.run(team, kind, async () => {
      const lease = await store.lease(storeKey("team", team), { ttl: LEASE_MS, signal });
      const call = {
        team,
        correlation: randomUUID(),
        signal: AbortSignal.any([signal, lease.signal]),
      };
      try {
        return await work(new TeamSync(this.#options, call));
      } finally {
        await lease.release();
      }
    });
  }
}
