import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { GatewayError } from "propylon";
import { Fernet } from "propylon/kit";
import type { Kv, Unsubscribe } from "propylon/store";
import type { JWK } from "jose";
import { z } from "zod";
import type { OauthOptions } from "../options.ts";

/** How long a key is published before it signs: gateways that verify keep a key set for minutes. */
const LEAD_MS = 600_000;
/** How long a key is published after the next one signs: longest life of a token, and the tolerance of clocks. */
const OVERLAP_MS = 3_600_000 + 300_000;
const RING = "ring";

/** Schema of what is stored: everything secret in it is sealed. */
export const ringSchema = z.object({
  secret: z.string(),
  keys: z
    .array(z.object({ kid: z.string(), jwk: z.string(), from: z.number() }))
    .max(100)
    .min(1),
});

/** The stored form. */
export type StoredRing = z.infer<typeof ringSchema>;

/** A key that signs access tokens. */
export interface RingKey {
  readonly kid: string;
  readonly alg: OauthOptions["signing"]["algorithm"];
  readonly secret: KeyObject;
  readonly publicKey: KeyObject;
  /** As it is published (RFC 7517). */
  readonly jwk: JWK;
  /** From when it signs, in milliseconds since 1970. */
  readonly from: number;
}

interface Opened {
  readonly secret: Buffer;
  readonly keys: readonly RingKey[];
}

/** Secrets of the authorization server, which all replicas of a store share: keys that sign, and what others are derived from. */
export class KeyRing {
  readonly #kv: Kv<StoredRing>;
  readonly #seal: Fernet;
  readonly #options: OauthOptions["signing"];
  #opened: Opened | undefined;

  constructor(kv: Kv<StoredRing>, seal: Fernet, options: OauthOptions["signing"]) {
    this.#kv = kv;
    this.#seal = seal;
    this.#options = options;
  }

  /** Reads the ring, makes one if the store has none, and follows what other replicas do to it. */
  async open(): Promise<Unsubscribe> {
    const made = this.#create();
    await this.#kv.create(RING, made);
    const entry = await this.#kv.get(RING);
    if (!entry) throw new GatewayError("unavailable", "The keys of oauth cannot be read.");
    this.#take(entry.value);
    return this.#kv.watch(RING, (_key, changed) => changed && this.#take(changed.value));
  }

  /** @throws {GatewayError} `unavailable` before it is open */
  get keys(): readonly RingKey[] {
    return this.#ring.keys;
  }

  /** Whether what a key signed counts. */
  has(kid: string): boolean {
    return this.keys.some((key) => key.kid === kid);
  }

  /** The key that signs now. */
  get signer(): RingKey {
    const now = Date.now();
    return this.keys.findLast(({ from }) => from <= now) ?? this.keys[0]!;
  }

  /** A secret for one purpose, 32 bytes. */
  derive(purpose: string): Buffer {
    return Buffer.from(hkdfSync("sha256", this.#ring.secret, "", `propylon oauth ${purpose}`, 32));
  }

  /** Makes the next key when it is time; of several replicas one does. */
  async rotateIfDue(): Promise<void> {
    const newest = this.keys.at(-1)!;
    if (Date.now() >= newest.from + this.#options.rotation - LEAD_MS) await this.rotate();
  }

  /**
   * A new key, which signs in ten minutes; until then all who verify have fetched it.
   *
   * @param isCompromised it signs at once, and what the others signed counts no more
   */
  async rotate(isCompromised = false): Promise<string> {
    const changed = await this.#kv.change(RING, (ring) => {
      if (!ring) throw new GatewayError("unavailable", "The keys of oauth cannot be changed.");
      const key = this.#createKey(isCompromised ? Date.now() : Date.now() + LEAD_MS);
      return { ...ring, keys: [...(isCompromised ? [] : withoutOld(ring.keys)), key] };
    });
    this.#take(changed!);
    return changed!.keys.at(-1)!.kid;
  }

  get #ring(): Opened {
    if (this.#opened) return this.#opened;
    throw new GatewayError("unavailable", "The keys of oauth are not read yet.");
  }

  #take({ secret, keys }: StoredRing): void {
    this.#opened = {
      secret: Buffer.from(this.#seal.open(secret), "base64url"),
      keys: keys.map(({ kid, jwk, from }) => toRingKey(kid, this.#seal.open(jwk), from)),
    };
  }

  #create(): StoredRing {
    const secret = this.#seal.seal(randomBytes(32).toString("base64url"));
    return { secret, keys: [this.#createKey(Date.now())] };
  }

  #createKey(from: number): StoredRing["keys"][number] {
    const pair =
      this.#options.algorithm === "EdDSA"
        ? generateKeyPairSync("ed25519")
        : generateKeyPairSync("ec", { namedCurve: "P-256" });
    const jwk = JSON.stringify(pair.privateKey.export({ format: "jwk" }));
    return { kid: randomBytes(12).toString("base64url"), jwk: this.#seal.seal(jwk), from };
  }
}

/** Keys whose tokens are all over are left out. */
function withoutOld(keys: StoredRing["keys"]): StoredRing["keys"] {
  const now = Date.now();
  return keys.filter((_key, index) => {
    const next = keys[index + 1];
    return next === undefined || next.from + OVERLAP_MS > now;
  });
}

function toRingKey(kid: string, text: string, from: number): RingKey {
  const { d: _d, ...jwk } = JSON.parse(text) as JWK;
  const alg = jwk.kty === "OKP" ? "EdDSA" : "ES256";
  const secret = createPrivateKey({ key: JSON.parse(text) as JsonWebKey, format: "jwk" });
  return {
    kid,
    alg,
    secret,
    publicKey: createPublicKey(secret),
    jwk: { ...jwk, kid, alg, use: "sig" },
    from,
  };
}
