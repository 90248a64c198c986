import { GatewayError, toGatewayError, type PluginContext } from "propylon";
import type { Fernet } from "propylon/kit";
import type { Instances } from "./agents/instances.ts";
import {
  type IssuerClient,
  type IssuerCall,
  type IssuerTeam,
  isRefusal,
} from "./registry/issuer-client.ts";
import type { TeamMetrics } from "./metrics.ts";
import type { InstanceRow } from "./data/tables.ts";
import type { TeamRows } from "./data/team-rows.ts";
import type { Workspaces } from "./agents/workspaces.ts";

/** How long after its instance a team may still come into being, by a request whose answer nobody waited for, in milliseconds. */
const LATE_MS = 600_000;

const DELETED =
  "The issuer has deleted this team. Delete the instance and register it again to get a new one.";
const REPLACED =
  "The issuer has another token for this team than the one that is kept here: rotate by hand.";

/** What a {@link TeamSync} works with. */
export interface TeamParts {
  readonly log: PluginContext["log"];
  readonly issuer: IssuerClient;
  readonly instances: Instances;
  readonly workspaces: Workspaces;
  readonly rows: TeamRows;
  readonly sealer: Fernet;
  readonly metrics: TeamMetrics;
}

/**
 * Brings one team at the issuer to what the tables say, whatever happened before: the order of events does not matter to it. It must
 * be the only one at work for its instance.
 */
export class TeamSync {
  readonly #parts: TeamParts;
  readonly #call: IssuerCall;
  /** As the issuer said it is, if it was asked. */
  #team: IssuerTeam | undefined;
  #hasChanged = false;

  constructor(parts: TeamParts, call: IssuerCall) {
    this.#parts = parts;
    this.#call = call;
  }

  /**
   * @param isCheck asks how the team is at the issuer, too
   * @returns whether something was changed at the issuer
   * @throws {GatewayError} when not all is in force; the reason is in the instance's row
   */
  async run(isCheck: boolean): Promise<boolean> {
    const instance = await this.#claim();
    if (!instance) return this.#retire();
    try {
      return await this.#converge(instance, isCheck);
    } catch (error) {
      // A gateway that ends, or lost its lease, has nothing to say about the issuer.
      if (!this.#call.signal.aborted) await this.#noteFailure(error);
      throw error;
    }
  }

  /** Gets a new token in the place of the previous one. */
  async rotate(): Promise<void> {
    const { issuer, rows } = this.#parts;
    const { team } = this.#call;
    try {
      await this.#keep(await issuer.rotate(this.#call));
      this.#tell("rotated");
    } catch (error) {
      // Whether there is another token now is not known then: the next check looks.
      if (!this.#call.signal.aborted && !isRefusal(error))
        await rows.markFailed(team, toGatewayError(error).message);
      throw error;
    }
  }

  /** The instance, marked as one whose team is being made if it has none; `undefined` when it is gone. */
  async #claim(): Promise<InstanceRow | undefined> {
    const { instances, rows } = this.#parts;
    const instance = await instances.find(this.#call.team);
    if (!instance || instance.provisioned_at !== null) return instance;
    // What is deleted from here on leaves a note, as its status says that the issuer may know it.
    return (await rows.markPending(instance.id)) ? instance : undefined;
  }

  async #converge(instance: InstanceRow, isCheck: boolean): Promise<boolean> {
    const { issuer, rows } = this.#parts;
    const isProvisioned = instance.team_status === "provisioned";
    if (isProvisioned && isCheck) this.#team = await issuer.read(this.#call);
    const isMade = isProvisioned && (this.#team !== undefined || !isCheck);
    let problem = isMade ? await this.#judge(instance) : await this.#provision(instance);
    let isKnown = await this.#assign();
    if (!isKnown && problem === undefined) {
      problem = await this.#provision(instance);
      isKnown = await this.#assign();
    }
    if (problem !== undefined) await rows.markFailed(instance.id, problem);
    else if (!isKnown) throw forgotten();
    else if (isProvisioned && instance.team_reason !== null)
      await rows.markProvisioned(instance.id, null);
    return this.#hasChanged;
  }

  /** @returns why the team cannot be used, as a sentence */
  async #provision(instance: InstanceRow): Promise<string | undefined> {
    const { issuer, rows } = this.#parts;
    const { jwt, active } = await issuer.create(this.#call, instance.name);
    if (jwt === undefined && (active === false || instance.provisioned_at !== null)) {
      this.#team = await issuer.read(this.#call);
      const problem = active === false ? DELETED : await this.#judge(instance);
      if (problem === undefined) await rows.markProvisioned(instance.id, null);
      return problem;
    }
    // The team is there, and the answer that had its token got lost: nobody holds one that a rotation could cut off.
    await this.#keep(jwt ?? (await issuer.rotate(this.#call)));
    if (jwt === undefined) this.#tell("rotated");
    this.#tell("provisioned");
    return undefined;
  }

  /** As far as it is known how the team is at the issuer. */
  async #judge({ team_jwt: sealed }: InstanceRow): Promise<string | undefined> {
    const team = this.#team;
    if (!team) return undefined;
    if (!team.active) return DELETED;
    try {
      const jti = sealed === null ? undefined : await jtiOf(this.#parts.sealer.open(sealed));
      return team.active_jti == null || jti === team.active_jti ? undefined : REPLACED;
    } catch (error) {
      return toGatewayError(error).message;
    }
  }

  async #keep(jwt: string): Promise<void> {
    const { rows, sealer } = this.#parts;
    await rows.keepToken(this.#call.team, sealer.seal(jwt));
  }

  /** @returns whether the issuer knows the team */
  async #assign(): Promise<boolean> {
    const { issuer, workspaces } = this.#parts;
    const wanted = await workspaces.workspacesOf(this.#call.team);
    if (!(await issuer.assign(this.#call, wanted))) return false;
    // A cycle tells nobody that all is as it was.
    if (!this.#team || !isSame(this.#team.workspace_ids, wanted))
      this.#tell("workspaces_updated", { workspaces: wanted.length });
    return true;
  }

  async #retire(): Promise<boolean> {
    const { issuer, rows } = this.#parts;
    const { team } = this.#call;
    const retired = await rows.findRetired(team);
    if (!retired) return false;
    const wasThere = await issuer.delete(this.#call);
    const isLate = Date.now() - Date.parse(retired.deleted_at) > LATE_MS;
    if (wasThere || isLate) await rows.forgetRetired(team);
    if (wasThere) this.#tell("deleted");
    return this.#hasChanged;
  }

  async #noteFailure(error: unknown): Promise<void> {
    const { instances, rows } = this.#parts;
    const { message } = toGatewayError(error);
    const instance = await instances.find(this.#call.team);
    if (instance?.team_status === "provisioned") await rows.markProvisioned(instance.id, message);
    else if (instance) await rows.markFailed(instance.id, message);
  }

  #tell(event: keyof TeamMetrics["events"], facts: object = {}): void {
    const { log, metrics } = this.#parts;
    const { team, correlation } = this.#call;
    this.#hasChanged = true;
    metrics.events[event].inc();
    log.info({ team, correlation, ...facts }, `pallas_team_${event}`);
  }
}

async function jtiOf(jwt: string): Promise<string | undefined> {
  const { decodeJwt } = await import("jose");
  try {
    return decodeJwt(jwt).jti;
  } catch {
    return undefined;
  }
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  const both = new Set([...left, ...right]);
  return both.size === new Set(left).size && both.size === new Set(right).size;
}

function forgotten(): GatewayError {
  return new GatewayError("upstream_error", "The issuer does not know a team that it made.", {
    hint: "Check what plugins.console.issuer.url leads to.",
  });
}
