import { checkInput } from "propylon/kit";
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import type { Author, Changed, Changes } from "./changes.ts";
import { found, taken } from "../refusals.ts";
import { idSchema, passwordSchema } from "../tables/fields.ts";
import { type Tables, timestamp } from "../tables/tables.ts";

/** An account without its password. */
export type ServiceAccount = Omit<Tables["service_account"], "password" | "active"> & {
  readonly active: boolean;
};

/** Costs of scrypt: 16 MiB and about 40 ms. */
const COST = 16_384;
const BLOCK = 8;
const KEY_BYTES = 32;
const SALT_BYTES = 16;

const derive = promisify<string, Buffer, number, { N: number; r: number }, Buffer>(scrypt);

/** Programs that administer teams, by HTTP Basic. */
export class ServiceAccounts {
  readonly #changes: Changes;

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  async list(): Promise<ServiceAccount[]> {
    const rows = this.#changes.db.selectFrom("service_account").selectAll().orderBy("name");
    return (await rows.execute()).map(withoutPassword);
  }

  /** @throws {GatewayError} `exists`, `invalid` */
  async create(author: Author, name: string, password: string): Promise<Changed<ServiceAccount>> {
    // Basic splits at the first colon (RFC 7617 section 2).
    checkInput(name, idSchema.regex(/^[^:]+$/, "expected no colon"));
    const hashed = await hashPassword(checkInput(password, passwordSchema));
    return this.#changes.make(author, async (trx) => {
      const row = { name, password: hashed, active: 1, created_at: timestamp() };
      const insert = trx
        .insertInto("service_account")
        .values(row)
        .onConflict((conflict) => conflict.doNothing());
      const { numInsertedOrUpdatedRows } = await insert.executeTakeFirst();
      if (!numInsertedOrUpdatedRows) throw taken("account");
      return { value: withoutPassword(row), entry: entryOf("account.create", name) };
    });
  }

  /** @throws {GatewayError} `not_found`, `invalid` */
  async setPassword(
    author: Author,
    name: string,
    password: string,
  ): Promise<Changed<ServiceAccount>> {
    const hashed = await hashPassword(checkInput(password, passwordSchema));
    return this.#update(author, name, "account.password", { password: hashed });
  }

  /** @throws {GatewayError} `not_found` */
  setActive(author: Author, name: string, active: boolean): Promise<Changed<ServiceAccount>> {
    const action = active ? "account.activate" : "account.deactivate";
    return this.#update(author, name, action, { active: Number(active) });
  }

  #update(
    author: Author,
    name: string,
    action: string,
    set: Partial<Pick<Tables["service_account"], "password" | "active">>,
  ): Promise<Changed<ServiceAccount>> {
    return this.#changes.make(author, async (trx) => {
      const rows = trx.updateTable("service_account").set(set).where("name", "=", name);
      const row = found(await rows.returningAll().executeTakeFirst(), "account");
      return { value: withoutPassword(row), entry: entryOf(action, name) };
    });
  }
}

/** What is kept of a password: `scrypt$<cost>$<salt>$<key>`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(password, salt, KEY_BYTES, { N: COST, r: BLOCK });
  return `scrypt$${COST}$${salt.toString("base64url")}$${key.toString("base64url")}`;
}

/** Of an account that nobody has: no password is known for it, and to look costs what it costs for any other. */
export const DECOY = [
  "scrypt",
  COST,
  randomBytes(SALT_BYTES).toString("base64url"),
  randomBytes(KEY_BYTES).toString("base64url"),
].join("$");

/** Whether a password is the one that was kept; takes as long either way. */
export async function isPassword(password: string, kept: string): Promise<boolean> {
  const [, cost = "", salt = "", key = ""] = kept.split("$");
  const expected = Buffer.from(key, "base64url");
  const options = { N: Number(cost), r: BLOCK };
  const actual = await derive(password, Buffer.from(salt, "base64url"), KEY_BYTES, options);
  return expected.length === actual.length && timingSafeEqual(actual, expected);
}

function withoutPassword({
  password: _password,
  active,
  ...row
}: Tables["service_account"]): ServiceAccount {
  return { ...row, active: active === 1 };
}

function entryOf(
  action: string,
  name: string,
): { readonly action: string; readonly target: string } {
  return { action, target: `account:${name}` };
}
