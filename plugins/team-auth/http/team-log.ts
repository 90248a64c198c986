import type { PluginContext } from "propylon";
import type { Author, Changed, Ended } from "../directory/changes.ts";
import type {
  CreatedTeam,
  RotateOptions,
  TeamDetails,
  Teams,
  TeamWithJwt,
} from "../directory/teams.ts";

type Happening = "provisioned" | "deleted" | "rotated" | "workspaces_updated" | "reactivated";

/** What is done to teams, each with its line in the log: joined by the correlation id with the audit and the other system's log. */
export class LoggedTeams {
  readonly #open: () => Teams;
  readonly #log: PluginContext["log"];

  constructor(open: () => Teams, log: PluginContext["log"]) {
    this.#open = open;
    this.#log = log;
  }

  list(owner?: string): Promise<TeamDetails[]> {
    return this.#open().list(owner);
  }

  get(id: string, owner?: string): Promise<TeamDetails> {
    return this.#open().get(id, owner);
  }

  async create(
    author: Author,
    input: Parameters<Teams["create"]>[1],
  ): Promise<Changed<CreatedTeam>> {
    const changed = await this.#open().create(author, input);
    const { team, jwt } = changed.value;
    if (jwt !== undefined) this.#tell("provisioned", team.id, author, changed.ended);
    return changed;
  }

  rename(author: Author, id: string, name: string): Promise<Changed<TeamDetails>> {
    return this.#open().rename(author, id, name);
  }

  async deactivate(author: Author, id: string, owner?: string): Promise<Changed<TeamDetails>> {
    const changed = await this.#open().deactivate(author, id, owner);
    return this.#told("deleted", author, changed);
  }

  async reactivate(author: Author, id: string): Promise<Changed<TeamDetails>> {
    return this.#told("reactivated", author, await this.#open().reactivate(author, id));
  }

  async setWorkspaces(
    author: Author,
    id: string,
    workspaces: readonly string[],
    owner?: string,
  ): Promise<Changed<TeamDetails>> {
    const changed = await this.#open().setWorkspaces(author, id, workspaces, owner);
    return this.#told("workspaces_updated", author, changed);
  }

  async rotate(author: Author, id: string, options?: RotateOptions): Promise<Changed<TeamWithJwt>> {
    const changed = await this.#open().rotate(author, id, options);
    this.#tell("rotated", changed.value.team.id, author, changed.ended);
    return changed;
  }

  #told(what: Happening, author: Author, changed: Changed<TeamDetails>): Changed<TeamDetails> {
    this.#tell(what, changed.value.id, author, changed.ended);
    return changed;
  }

  #tell(what: Happening, team: string, { actor, correlation }: Author, ended: Ended): void {
    this.#log.info({ team, actor, correlation, ended }, `pallas_team_${what}`);
  }
}
