import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from "node:crypto";
import { type Fernet, FIRST_PROBLEM } from "propylon/kit";
import { type Call, type GatewayInfo, type GatewayConfig, GatewayError, type Json } from "propylon";
import type { Kv } from "propylon/store";
import { librariesOf } from "propylon/internal";
import { z } from "zod";
import { withIdentity } from "../wire/envelope.ts";
import type { AssertionKeysService } from "../service.ts";

/** How long an assertion is valid, in seconds: a call that waits longer for its server is late anyway. */
const LIFE_S = 60;

const keySchema = z.object({
  jwk: z.object({ kty: z.literal("OKP"), crv: z.literal("Ed25519"), x: z.string(), d: z.string() }),
});

/** The gateway's key as it is stored. */
export type StoredKey = z.infer<typeof keySchema>;

/** Schema of the stored key. */
export const storedKeySchema = keySchema;

/** Schema of the key where it is sealed: another name, as earlier versions cannot read that. */
export const sealedKeySchema = z.object({ sealed: z.string() });

/** Where a sealed key is kept, and what opens it. */
export interface KeySeal {
  readonly kv: Kv<z.infer<typeof sealedKeySchema>>;
  readonly fernet: Fernet;
}

interface SigningKey {
  readonly kid: string;
  readonly secret: KeyObject;
  /** RFC 8037 section 2. */
  readonly jwk: Json;
}

/** Who a call is from, for one server. */
export interface Assertion {
  readonly issuer: string;
  /** Whom it is for: the URL of the server. */
  readonly audience: string;
}

/**
 * Tells servers who makes a call: a JSON Web Token that this gateway signs and whose keys it publishes. All replicas of a store
 * share one key, made when it is first needed.
 */
export class Assertions implements AssertionKeysService {
  readonly #kv: Kv<StoredKey>;
  readonly #seal: KeySeal | undefined;
  #key: Promise<SigningKey> | undefined;
  #isPublished = false;
  /** Whether any server is told. */
  isUsed = false;

  /** @param seal `undefined` where there is no key to seal with, or nothing that outlives the process */
  constructor(kv: Kv<StoredKey>, seal?: KeySeal) {
    this.#kv = kv;
    this.#seal = seal;
  }

  publish(): void {
    this.#isPublished = true;
  }

  /** The call with its assertion. @throws {GatewayError} `unavailable` while the store is away and the key is not known */
  async identify(call: Call, { issuer, audience }: Assertion): Promise<Call> {
    if (!this.#isPublished) throw unpublished(call.server);
    const { kid, secret } = await this.#load();
    const now = Math.floor(Date.now() / 1_000);
    const claims = {
      iss: issuer,
      aud: audience,
      sub: call.principal.ref,
      // Always there: a server might take an absent set for everything.
      libraries: librariesOf(call.principal) ?? [],
      call: call.id,
      iat: now,
      exp: now + LIFE_S,
    };
    // A type of its own: no other token that is signed with the key can pass for one (RFC 8725 section 3.11).
    const head = { alg: "EdDSA", typ: "propylon-identity+jwt", kid };
    const text = `${encode(head)}.${encode(claims)}`;
    const signature = sign(null, Buffer.from(text), secret).toString("base64url");
    return withIdentity(call, `${text}.${signature}`);
  }

  /** What servers check assertions with (RFC 7517). */
  async keySet(): Promise<{ readonly keys: readonly Json[] }> {
    const { kid, jwk } = await this.#load();
    return { keys: [{ ...jwk, kid, alg: "EdDSA", use: "sig" }] };
  }

  #load(): Promise<SigningKey> {
    const read = async (): Promise<SigningKey> =>
      this.#seal ? this.#readSealed(this.#seal) : this.#read();
    this.#key ??= read().catch((error: unknown) => {
      this.#key = undefined;
      throw error;
    });
    return this.#key;
  }

  /** Of replicas that make one at once, the first wins. */
  async #read(): Promise<SigningKey> {
    const known = await this.#kv.get("signing");
    if (known) return toSigningKey(known.value);
    const made = createStoredKey();
    if ((await this.#kv.create("signing", made)) !== undefined) return toSigningKey(made);
    const first = await this.#kv.get("signing");
    if (first) return toSigningKey(first.value);
    throw unreadable();
  }

  /** A key that stands there in the open is sealed, and stays the same: servers know it. */
  async #readSealed({ kv, fernet }: KeySeal): Promise<SigningKey> {
    const known = await kv.get("sealed");
    if (known) return toSigningKey(openKey(fernet, known.value.sealed));
    const made = (await this.#kv.get("signing"))?.value ?? createStoredKey();
    await kv.create("sealed", { sealed: fernet.seal(JSON.stringify(made)) });
    const first = await kv.get("sealed");
    if (!first) throw unreadable();
    await this.#kv.delete("signing");
    return toSigningKey(openKey(fernet, first.value.sealed));
  }
}

function unreadable(): GatewayError {
  return new GatewayError("invalid", "The key of assertions in the store cannot be read.", {
    hint: "The log says why. A newer gateway may have written it.",
  });
}

function openKey(fernet: Fernet, sealed: string): StoredKey {
  return keySchema.parse(JSON.parse(fernet.open(sealed)), FIRST_PROBLEM);
}

function unpublished(server: string): GatewayError {
  return new GatewayError(
    "invalid",
    `Nobody publishes the keys that "${server}" checks calls with.`,
    {
      hint: `Add access to plugins, or take identity out of servers.${server}.`,
    },
  );
}

/** Where clients reach the gateway, or its name. */
export function issuerOf(info: GatewayInfo): string {
  const { publicUrl } = info.effectiveConfig() as Pick<GatewayConfig, "publicUrl">;
  return publicUrl ?? info.settings.name;
}

function createStoredKey(): StoredKey {
  const jwk = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
  return keySchema.parse({ jwk }, FIRST_PROBLEM);
}

function toSigningKey({ jwk }: StoredKey): SigningKey {
  const { kty, crv, x } = jwk;
  // RFC 7638: members in the order of their names.
  const kid = createHash("sha256").update(JSON.stringify({ crv, kty, x })).digest("base64url");
  return { kid, secret: createPrivateKey({ key: jwk, format: "jwk" }), jwk: { kty, crv, x } };
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}
