import { Changes, type ChangesParts } from "./changes.ts";
import { LibraryTable } from "./libraries.ts";
import { Memberships } from "./memberships.ts";
import { ServiceAccounts } from "./service-accounts.ts";
import { type Seal, SigningKeys } from "./signing-keys.ts";
import type { Database, KeyAlgorithm } from "../tables/tables.ts";
import type { Issuers } from "./team-jwt.ts";
import { Teams } from "./teams.ts";
import { Tokens } from "./tokens.ts";
import { Users } from "./users.ts";

/** What a {@link Directory} needs. */
export interface DirectoryParts extends ChangesParts {
  readonly seal: Seal;
  readonly issuers: Issuers;
  /** How new keys sign. */
  readonly algorithm: KeyAlgorithm;
}

/** Who there is, what there is, and who may see it: the only way to change any of it. Each change is in force when it is answered. */
export class Directory {
  readonly db: Database;
  readonly users: Users;
  readonly libraries: LibraryTable;
  readonly memberships: Memberships;
  readonly tokens: Tokens;
  readonly teams: Teams;
  readonly keys: SigningKeys;
  readonly accounts: ServiceAccounts;

  constructor({ seal, issuers, algorithm, ...parts }: DirectoryParts) {
    const changes = new Changes(parts);
    this.db = parts.db;
    this.users = new Users(changes);
    this.libraries = new LibraryTable(changes);
    this.memberships = new Memberships(changes);
    this.tokens = new Tokens(changes);
    this.keys = new SigningKeys(changes, seal, algorithm);
    this.teams = new Teams(changes, this.keys, issuers);
    this.accounts = new ServiceAccounts(changes);
  }
}
