import { GatewayError, type Json } from "propylon";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import type { Author, Changed, Changes } from "./changes.ts";
import { found } from "../refusals.ts";
import { type KeyAlgorithm, type Tables, timestamp, type Trx } from "../tables/tables.ts";

/** Encrypts what must not be read in the database. */
export interface Seal {
  seal(text: string): string;
  /** @throws {GatewayError} for a text that no known key has sealed */
  open(sealed: string): string;
}

/** A key without its secret. */
export type SigningKey = Omit<Tables["signing_key"], "secret">;

/** HS256 wants as many bits as its digest has (RFC 7518 section 3.2). */
const SECRET_BYTES = 32;
const KID_BYTES = 8;

/** Keys that sign and verify tokens. One signs; those before it verify until they are retired. */
export class SigningKeys {
  readonly #changes: Changes;
  readonly #seal: Seal;
  readonly #algorithm: KeyAlgorithm;

  /** @param algorithm of keys that are made without a word about it */
  constructor(changes: Changes, seal: Seal, algorithm: KeyAlgorithm) {
    this.#changes = changes;
    this.#seal = seal;
    this.#algorithm = algorithm;
  }

  async list(): Promise<SigningKey[]> {
    const rows = this.#changes.db.selectFrom("signing_key").selectAll().orderBy("created_at");
    return (await rows.execute()).map(withoutSecret);
  }

  /** A new key that signs from now on; the others only verify. */
  create(author: Author, alg: KeyAlgorithm = this.#algorithm): Promise<Changed<SigningKey>> {
    return this.#changes.make(author, async (trx) => {
      const row = await this.#insert(trx, alg);
      return { value: withoutSecret(row), entry: entryOf("key.create", row.kid, { alg }) };
    });
  }

  /**
   * Tokens that it signed are all refused from now on; issue them again. For good.
   *
   * @throws {GatewayError} `not_found`
   */
  retire(author: Author, kid: string): Promise<Changed<SigningKey>> {
    return this.#changes.make(author, async (trx) => {
      const rows = trx.selectFrom("signing_key").selectAll().where("kid", "=", kid);
      const before = found(await rows.executeTakeFirst(), "key");
      if (before.state === "retired") return { value: withoutSecret(before) };
      const set = { state: "retired", retired_at: timestamp() } as const;
      await trx.updateTable("signing_key").set(set).where("kid", "=", kid).execute();
      return { value: withoutSecret({ ...before, ...set }), entry: entryOf("key.retire", kid) };
    });
  }

  /** The key that signs now, unsealed; made when there is none. */
  async current(trx: Trx): Promise<Tables["signing_key"]> {
    const rows = trx.selectFrom("signing_key").selectAll().where("state", "=", "signing");
    const row = await rows.orderBy("created_at", "desc").executeTakeFirst();
    return this.unseal(row ?? (await this.#insert(trx, this.#algorithm)));
  }

  unseal(row: Tables["signing_key"]): Tables["signing_key"] {
    return { ...row, secret: this.#seal.open(row.secret) };
  }

  /**
   * The HMAC secret, for the program that mints per-turn tokens with it.
   *
   * @throws {GatewayError} `not_found`; `invalid` for a key that is not a secret between two
   */
  async reveal(author: Author, kid: string): Promise<string> {
    const { value } = await this.#changes.make(author, async (trx) => {
      const rows = trx.selectFrom("signing_key").selectAll().where("kid", "=", kid);
      const { alg, secret } = found(await rows.executeTakeFirst(), "key");
      if (alg !== "HS256")
        throw new GatewayError("invalid", "The private key of this pair leaves the issuer never.", {
          hint: "Verify with the public keys at /.well-known/jwks.json.",
        });
      return { value: this.#seal.open(secret), entry: entryOf("key.reveal", kid) };
    });
    return value;
  }

  async #insert(trx: Trx, alg: KeyAlgorithm): Promise<Tables["signing_key"]> {
    const { secret, publicJwk } = alg === "HS256" ? hmacSecret() : keyPair();
    const row: Tables["signing_key"] = {
      kid: randomBytes(KID_BYTES).toString("hex"),
      alg,
      secret: this.#seal.seal(secret),
      public_jwk: publicJwk ?? null,
      state: "signing",
      created_at: timestamp(),
      retired_at: null,
    };
    const others = trx.updateTable("signing_key").where("state", "=", "signing");
    await others.set({ state: "verifying" }).execute();
    await trx.insertInto("signing_key").values(row).execute();
    return row;
  }
}

function hmacSecret(): { readonly secret: string; readonly publicJwk?: string } {
  return { secret: randomBytes(SECRET_BYTES).toString("hex") };
}

function keyPair(): { readonly secret: string; readonly publicJwk?: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    secret: JSON.stringify(privateKey.export({ format: "jwk" })),
    publicJwk: JSON.stringify(publicKey.export({ format: "jwk" })),
  };
}

function withoutSecret({ secret: _secret, ...row }: Tables["signing_key"]): SigningKey {
  return row;
}

function entryOf(
  action: string,
  kid: string,
  details: Json = {},
): { readonly action: string; readonly target: string; readonly details: Json } {
  return { action, target: `key:${kid}`, details };
}
