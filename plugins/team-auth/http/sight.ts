import type { Directory } from "../directory/directory.ts";
import type { Library } from "../directory/libraries.ts";
import type { Membership, MembershipFilter } from "../directory/memberships.ts";
import type { Reach } from "../directory/reach.ts";
import type { TeamDetails } from "../directory/teams.ts";
import type { Token } from "../directory/tokens.ts";
import type { User } from "../directory/users.ts";
import { groupRows } from "../tables/group.ts";

/** What somebody sees of the directory: an admin all of it, a user their own part, and a token that reads itself alone. */
export class Sight {
  readonly reach: Reach;
  readonly #directory: Directory;

  constructor(directory: Directory, reach: Reach) {
    this.reach = reach;
    this.#directory = directory;
  }

  /** Whether roles and tokens of a user are in it. */
  isOf(user: string): boolean {
    return !this.reach || this.reach.user === user;
  }

  async users(): Promise<readonly User[]> {
    return this.reach ? [] : this.#directory.users.list();
  }

  async libraries(): Promise<readonly Library[]> {
    const { libraries } = this.#directory;
    if (this.reach?.kind === "access") return [];
    return this.reach ? libraries.scopable(this.reach.user) : libraries.list();
  }

  async memberships({ user, library }: MembershipFilter = {}): Promise<readonly Membership[]> {
    if (this.reach?.kind === "access") return [];
    return this.#directory.memberships.list({ user: this.reach?.user ?? user, library });
  }

  /** @param user only those of this one */
  async tokens(user?: string): Promise<readonly Token[]> {
    return this.#directory.tokens.list({ user: this.reach?.user ?? user, reach: this.reach });
  }

  /** Tokens that count. */
  async active(user?: string): Promise<readonly Token[]> {
    return (await this.tokens(user)).filter(({ active }) => active === 1);
  }

  async teams(): Promise<readonly TeamDetails[]> {
    return this.reach ? [] : this.#directory.teams.list();
  }

  /** Tells the libraries of workspaces. */
  async seen(): Promise<(workspaces: readonly string[]) => readonly string[]> {
    const assigned = (await this.libraries()).filter(({ workspace_id }) => workspace_id !== null);
    const groups = groupRows(assigned, ({ workspace_id }) => workspace_id!);
    // Many teams see the same: the list of a workspace is made once, and copied as a whole.
    const uids = new Map([...groups].map(([id, rows]) => [id, rows.map(({ uid }) => uid)]));
    return (workspaces) =>
      new Array<string>().concat(...workspaces.map((each) => uids.get(each) ?? []));
  }

  /** Names of the teams of a workspace. */
  async teamsOf(workspace: string | null | undefined): Promise<readonly string[]> {
    return (await this.teams())
      .filter(({ workspaces }) => workspace != null && workspaces.includes(workspace))
      .map(({ name }) => `team ${name}`);
  }
}
