import type { ZodType } from "zod";
import { z } from "zod";
import { createSealer, type Fernet, FIRST_PROBLEM } from "propylon/kit";
import type { Kv, Store } from "propylon/store";
import { passingSealer } from "propylon/internal";

const sealedSchema = z.object({ sealed: z.string() });

/** A value and the revision under which it is stored. */
export interface KeptSecret<T> {
  readonly value: T;
  readonly rev: number;
}

/** Secrets of one kind in the store, sealed: nobody who reads the store reads them. */
export class Vault<T> {
  readonly #kv: Kv<z.infer<typeof sealedSchema>>;
  readonly #seal: Fernet;
  readonly #schema: ZodType<T>;

  /** @param ttl milliseconds that a value stays; default: until it is removed */
  constructor(
    store: Store,
    name: string,
    options: { readonly seal: Fernet; readonly schema: ZodType<T>; readonly ttl?: number },
  ) {
    const { ttl } = options;
    this.#kv = store.kv(name, { schema: sealedSchema, ...(ttl !== undefined && { ttl }) });
    this.#seal = options.seal;
    this.#schema = options.schema;
  }

  /** What is there; nothing where it was sealed with a key that is gone. @throws {GatewayError} `unavailable` */
  async get(key: string): Promise<KeptSecret<T> | undefined> {
    const entry = await this.#kv.get(key);
    if (!entry) return undefined;
    const value = this.#open(entry.value.sealed);
    return value === undefined ? undefined : { value, rev: entry.rev };
  }

  /** @returns its revision. @throws {GatewayError} `unavailable` */
  put(key: string, value: T): Promise<number> {
    return this.#kv.put(key, { sealed: this.#seal.seal(JSON.stringify(value)) });
  }

  /** Takes a value out: of all who try, one gets it. @throws {GatewayError} `unavailable` */
  async take(key: string): Promise<T | undefined> {
    const kept = await this.get(key);
    return kept && (await this.#kv.delete(key, kept.rev)) ? kept.value : undefined;
  }

  /** @throws {GatewayError} `unavailable` */
  async remove(key: string): Promise<void> {
    await this.#kv.delete(key);
  }

  #open(sealed: string): T | undefined {
    try {
      return this.#schema.parse(JSON.parse(this.#seal.open(sealed)), FIRST_PROBLEM);
    } catch {
      return undefined;
    }
  }
}

/** What secrets are sealed with, and whether it is still there after a restart. */
export interface LoginSeal {
  readonly fernet: Fernet;
  readonly isLasting: boolean;
}

/**
 * Seals with the keys of the config or the environment; where there are none, with one that ends with the process.
 *
 * @throws {GatewayError} `invalid` for a key that can be guessed
 */
export function findSeal(secretKeys: readonly string[] | undefined): LoginSeal {
  try {
    return { fernet: createSealer("oauth-client", secretKeys), isLasting: true };
  } catch (error) {
    if (secretKeys) throw error;
    return { fernet: passingSealer, isLasting: false };
  }
}
