import { GatewayError, type Json } from "propylon";
import { checkInput, FIRST_PROBLEM } from "propylon/kit";
import { randomUUID } from "node:crypto";
import type { Author, Changed, Changes } from "./changes.ts";
import { found } from "../refusals.ts";
import { groupRows } from "../tables/group.ts";
import { nameSchema, teamIdSchema, workspacesSchema } from "../tables/fields.ts";
import type { SigningKeys } from "./signing-keys.ts";
import { type Database, type Tables, timestamp, type Trx } from "../tables/tables.ts";
import { type Issuers, signTeamJwt } from "./team-jwt.ts";

/** A team with its workspaces, in the order of their names. */
export type TeamDetails = Omit<Tables["team"], "active"> & {
  readonly active: boolean;
  readonly workspaces: readonly string[];
};

/** A team and the token that was just made for it: the only time that it is shown. */
export interface TeamWithJwt {
  readonly team: TeamDetails;
  readonly jwt: string;
}

/** A team, with its token unless it was there before. */
export type CreatedTeam = Pick<TeamWithJwt, "team"> & Partial<TeamWithJwt>;

/** How a token is replaced. */
export interface RotateOptions {
  /** Whose team it has to be; default: anybody's. */
  readonly owner?: string | undefined;
  /** How long the token before still counts, in milliseconds; default 0. */
  readonly grace?: number | undefined;
}

/** Deployments of agents, each with one token that lives long. */
export class Teams {
  readonly #changes: Changes;
  readonly #keys: SigningKeys;
  readonly #issuers: Issuers;

  constructor(changes: Changes, keys: SigningKeys, issuers: Issuers) {
    this.#changes = changes;
    this.#keys = keys;
    this.#issuers = issuers;
  }

  /** @param owner only this account's teams; default: all */
  async list(owner?: string): Promise<TeamDetails[]> {
    const { db } = this.#changes;
    let rows = db.selectFrom("team").selectAll();
    if (owner !== undefined) rows = rows.where("owner", "=", owner);
    const all = await db.selectFrom("team_workspace").selectAll().execute();
    const assigned = groupRows(all, ({ team }) => team);
    const workspacesOf = (id: string): readonly string[] =>
      (assigned.get(id) ?? []).map(({ workspace_id }) => workspace_id);
    return (await rows.orderBy("created_at").orderBy("id").execute()).map((row) =>
      toTeam(row, workspacesOf(row.id)),
    );
  }

  /**
   * @param owner whose team it has to be; default: anybody's
   * @throws {GatewayError} `not_found`, also for a team of another owner
   */
  get(id: string, owner?: string): Promise<TeamDetails> {
    return readTeam(this.#changes.db, id, owner);
  }

  /**
   * Creates a team with its first token. One that is there stays as it is, switched off or not, and no token is shown for it.
   *
   * @throws {GatewayError} `invalid`; `exists` for the team of another owner
   */
  create(
    author: Author,
    input: { readonly id: string; readonly name: string; readonly owner?: string | undefined },
  ): Promise<Changed<CreatedTeam>> {
    const id = checkInput(input.id, teamIdSchema);
    const name = checkInput(input.name, nameSchema);
    const owner = input.owner ?? null;
    return this.#changes.make<CreatedTeam>(author, async (trx) => {
      const at = timestamp();
      const jti = randomUUID();
      const former = { former_jti: null, former_until: null };
      const times = { created_at: at, updated_at: at };
      const row = { id, name, owner, active: 1, active_jti: jti, ...former, ...times };
      const insert = trx
        .insertInto("team")
        .values(row)
        .onConflict((conflict) => conflict.doNothing());
      const { numInsertedOrUpdatedRows } = await insert.executeTakeFirst();
      if (!numInsertedOrUpdatedRows)
        return { value: { team: await readExisting(trx, id, input.owner) } };
      const jwt = await this.#sign(trx, { id, jti });
      const entry = entryOf("team.create", id, { name, ...(owner !== null && { owner }) });
      return { value: { team: toTeam(row, []), jwt }, entry };
    });
  }

  /** @throws {GatewayError} `not_found`, `invalid` */
  rename(author: Author, id: string, name: string, owner?: string): Promise<Changed<TeamDetails>> {
    checkInput(name, nameSchema);
    return this.#update(author, id, owner, "team.rename", { name });
  }

  /** Its token is refused from now on. Again: nothing changes. @throws {GatewayError} `not_found` */
  deactivate(author: Author, id: string, owner?: string): Promise<Changed<TeamDetails>> {
    return this.#update(author, id, owner, "team.deactivate", { active: 0 });
  }

  /** Its token counts again. @throws {GatewayError} `not_found` */
  reactivate(author: Author, id: string, owner?: string): Promise<Changed<TeamDetails>> {
    return this.#update(author, id, owner, "team.reactivate", { active: 1 });
  }

  /**
   * Replaces the workspaces; `[]`: the team sees nothing. They need not exist: each counts from when a library names it.
   *
   * @throws {GatewayError} `not_found`, `invalid`
   */
  setWorkspaces(
    author: Author,
    id: string,
    workspaces: readonly string[],
    owner?: string,
  ): Promise<Changed<TeamDetails>> {
    const wanted = checkInput([...workspaces], workspacesSchema);
    return this.#changes.make(author, async (trx) => {
      const before = await readTeam(trx, id, owner);
      const added = wanted.filter((each) => !before.workspaces.includes(each));
      const removed = before.workspaces.filter((each) => !wanted.includes(each));
      if (added.length + removed.length === 0) return { value: before };
      await this.#assign(trx, before.id, added, removed);
      const details = { workspaces: wanted, added, removed };
      return {
        value: { ...(await updateTeam(trx, before, {})), workspaces: wanted.toSorted() },
        entry: entryOf("team.workspaces", before.id, details),
      };
    });
  }

  /**
   * A new token in place of the previous one, which is refused from now on.
   *
   * @param options.grace how long the previous one still counts, in milliseconds; default 0. One before that never does
   * @throws {GatewayError} `not_found`
   */
  rotate(
    author: Author,
    id: string,
    { owner, grace = 0 }: RotateOptions = {},
  ): Promise<Changed<TeamWithJwt>> {
    return this.#changes.make(author, async (trx) => {
      const before = await readTeam(trx, id, owner);
      const jti = randomUUID();
      const former = {
        former_jti: grace > 0 ? before.active_jti : null,
        former_until: grace > 0 ? timestamp(Date.now() + grace) : null,
      };
      const team = await updateTeam(trx, before, { active_jti: jti, ...former });
      const jwt = await this.#sign(trx, { id: before.id, jti });
      return { value: { team, jwt }, entry: entryOf("team.rotate", before.id, { grace }) };
    });
  }

  #update(
    author: Author,
    id: string,
    owner: string | undefined,
    action: string,
    set: Partial<Pick<Tables["team"], "name" | "active">>,
  ): Promise<Changed<TeamDetails>> {
    return this.#changes.make(author, async (trx) => {
      const before = await readTeam(trx, id, owner);
      const isSame =
        before.name === (set.name ?? before.name) &&
        Number(before.active) === (set.active ?? Number(before.active));
      if (isSame) return { value: before };
      return { value: await updateTeam(trx, before, set), entry: entryOf(action, before.id, set) };
    });
  }

  async #assign(
    trx: Trx,
    team: string,
    added: readonly string[],
    removed: readonly string[],
  ): Promise<void> {
    const created_at = timestamp();
    const rows = added.map((workspace_id) => ({ team, workspace_id, created_at }));
    if (rows.length > 0) await trx.insertInto("team_workspace").values(rows).execute();
    if (removed.length > 0)
      await trx
        .deleteFrom("team_workspace")
        .where("team", "=", team)
        .where("workspace_id", "in", removed)
        .execute();
  }

  async #sign(trx: Trx, subject: { readonly id: string; readonly jti: string }): Promise<string> {
    return signTeamJwt(await this.#keys.current(trx), this.#issuers, subject);
  }
}

/** @returns the team as it is then */
async function updateTeam(
  trx: Trx,
  before: TeamDetails,
  set: Partial<Omit<Tables["team"], "id">>,
): Promise<TeamDetails> {
  const row = { ...set, updated_at: timestamp() };
  await trx.updateTable("team").set(row).where("id", "=", before.id).execute();
  const { active = Number(before.active), ...rest } = row;
  return { ...before, ...rest, active: active === 1 };
}

async function readTeam(db: Database, id: string, owner?: string): Promise<TeamDetails> {
  // An invalid id is one that nobody has.
  const known = teamIdSchema.safeParse(id, FIRST_PROBLEM).data ?? "";
  const rows = await db
    .selectFrom("team")
    .leftJoin("team_workspace", "team_workspace.team", "team.id")
    .selectAll("team")
    .select("workspace_id")
    .where("id", "=", known)
    .execute();
  const [row] = rows;
  // A client that asks for a team of another must not learn that it is there.
  const mine = row && (owner === undefined || row.owner === owner) ? row : undefined;
  const { workspace_id: _, ...team } = found(mine, "team");
  return toTeam(
    team,
    rows.flatMap(({ workspace_id }) => workspace_id ?? []),
  );
}

async function readExisting(trx: Trx, id: string, owner: string | undefined): Promise<TeamDetails> {
  const team = await readTeam(trx, id);
  if (owner === undefined || team.owner === owner) return team;
  throw new GatewayError("exists", "This id cannot be used.", {
    hint: "Use the id of an instance of your own.",
  });
}

function toTeam(row: Tables["team"], workspaces: readonly string[]): TeamDetails {
  return { ...row, active: row.active === 1, workspaces: workspaces.toSorted() };
}

function entryOf(
  action: string,
  id: string,
  details: Json = {},
): { readonly action: string; readonly target: string; readonly details: Json } {
  return { action, target: `team:${id}`, details };
}
