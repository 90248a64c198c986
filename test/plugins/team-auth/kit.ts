import { pino } from "pino";
import { onTestFinished } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import type { AuditEntry } from "../../../plugins/team-auth/directory/changes.ts";
import { Directory } from "../../../plugins/team-auth/directory/directory.ts";
import { MIGRATIONS } from "../../../plugins/team-auth/tables/migrations.ts";
import type {
  Database,
  KeyAlgorithm,
  Tables,
  Trx,
} from "../../../plugins/team-auth/tables/tables.ts";
import { openDriver as openSqlite } from "../../../plugins/sqlite/driver.ts";
import { optionsSchema as sqliteOptions } from "../../../plugins/sqlite/options.ts";
import { makeFolder } from "../../kit/folder.ts";
import { freshSchema, openDriver as openPostgres } from "../postgres/kit.ts";

const log = pino({ level: "silent" });

/** Whoever makes the changes of a test. */
export const ADMIN = { actor: "key:admin" };
/** A team as a console names it. */
export const KOTTOS = "a3f10000-0000-4000-8000-00000000000a";

/** The tables of the plugin in a SQLite file, or in PostgreSQL, that nobody else uses. */
export async function openTables(postgres?: string): Promise<Database> {
  const store = new GatewayStore(await (postgres ? inPostgres(postgres) : inFile()), log);
  onTestFinished(() => store.close());
  return store.database<Tables>("team-auth", MIGRATIONS);
}

function inFile(): ReturnType<typeof openSqlite> {
  const folder = makeFolder();
  return openSqlite("sqlite:gateway.db", { folder, options: sqliteOptions.parse({}), log });
}

function inPostgres(url: string): ReturnType<typeof openPostgres> {
  return openPostgres(url, freshSchema());
}

/** A directory, with what it told the audit and up to which epochs it waited. */
export interface OpenedDirectory {
  readonly directory: Directory;
  readonly entries: AuditEntry[];
  readonly epochs: number[];
}

/** A directory whose secrets are turned round in place of being sealed. */
export function openDirectory(db: Database, algorithm: KeyAlgorithm = "HS256"): OpenedDirectory {
  const entries: AuditEntry[] = [];
  const epochs: number[] = [];
  const turn = (text: string): string => text.split("").toReversed().join("");
  const directory = new Directory({
    db,
    audit: async (trx: Trx, entry) => {
      const { length } = await trx.selectFrom("audit").select("seq").execute();
      const { details, correlation = null, ...rest } = entry;
      const row = { ...rest, correlation, details: JSON.stringify(details ?? null) };
      await trx
        .insertInto("audit")
        .values({ ...row, seq: length + 1, prev: "", hash: "" })
        .execute();
      entries.push(entry);
    },
    spread: async (epoch) => {
      epochs.push(epoch);
      return { sessions: 0, streams: 0, calls: 0 };
    },
    seal: { seal: turn, open: turn },
    issuers: { team: "mnemosyne", audience: "mnemosyne" },
    algorithm,
  });
  return { directory, entries, epochs };
}
