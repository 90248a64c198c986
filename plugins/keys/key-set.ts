import type { FlattenedJWSInput, JSONWebKeySet, JWK, JWSHeaderParameters } from "jose";
import { GatewayError } from "propylon";
import { isObject } from "propylon/kit";
import { FetchedValue, type RsaAlgorithm } from "propylon/internal";

const MAX_KEYS = 100;
/** Members that make a key; what else a set holds, e.g. parts of private keys, is left out. */
const MEMBERS = ["kty", "kid", "alg", "use", "key_ops", "n", "e", "crv", "x", "y"] as const;
const TYPES: ReadonlySet<unknown> = new Set(["RSA", "EC", "OKP"]);

type FindKey = ReturnType<typeof import("jose").createLocalJWKSet>;

/** Keys as they were fetched. */
interface Fetched {
  readonly find: FindKey;
  readonly text: string;
  /** How often they had changed. */
  readonly version: number;
}

/**
 * The public keys of an issuer, fetched when they are needed and kept for a time as {@link FetchedValue} says. Each is used with one
 * algorithm (RFC 8725 section 3.1): that of its set, or of its type and curve; an RSA key without one has the algorithm of the config.
 *
 * @example
 * const keys = new KeySet(() => readJson(metadata.jwks_uri), "RS256");
 * await jwtVerify(token, (header, input) => keys.find(header, input), { algorithms: [...PUBLIC_KEY_ALGORITHMS] });
 */
export class KeySet {
  readonly #keys: FetchedValue<Fetched>;

  /** @param fetch gets the set as JSON @param rsaAlgorithm of RSA keys without `alg` */
  constructor(fetch: () => Promise<unknown>, rsaAlgorithm: RsaAlgorithm = "RS256") {
    this.#keys = new FetchedValue(async () => {
      const { createLocalJWKSet } = await import("jose");
      const keys = readKeys(await fetch(), rsaAlgorithm);
      const text = JSON.stringify(keys);
      const { last = { text, version: 0 } } = this.#keys;
      const version = last.text === text ? last.version : last.version + 1;
      return { find: createLocalJWKSet(keys), text, version };
    });
  }

  /** Tells from now on whether the keys are still those of now: what they signed is believed no longer where one may be withdrawn. */
  mark(): () => boolean {
    const version = this.#version;
    return () => version === this.#version;
  }

  /** That of the keys that are found now: a number of its own would change a moment before them. */
  get #version(): number {
    return this.#keys.last?.version ?? 0;
  }

  /** Until when what these keys signed may be believed, in milliseconds since 1970. */
  get usableUntil(): number {
    return this.#keys.usableUntil;
  }

  /**
   * The key that a token names.
   *
   * @throws {FetchFailure} where the key may be one that could not be fetched; an error of jose where there is no such key
   */
  async find(header: JWSHeaderParameters, token: FlattenedJWSInput): ReturnType<FindKey> {
    const { find } = await this.#keys.get();
    const { errors } = await import("jose");
    try {
      return await find(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const renewed = await this.#keys.renew();
      return renewed.find(header, token);
    }
  }

  /** Fetches the keys where they are not there yet; a failure shows when they are needed. */
  async warm(): Promise<void> {
    await this.#keys.get().catch(() => {});
  }
}

/** @throws for what is not a set, or has no key that can verify anything: the issuer's fault, and no reason to forget its keys */
function readKeys(value: unknown, rsaAlgorithm: RsaAlgorithm): JSONWebKeySet {
  const listed = isObject(value) && Array.isArray(value["keys"]) ? value["keys"] : [];
  const keys = listed.slice(0, MAX_KEYS).filter(isVerifier);
  if (keys.length === 0)
    throw new GatewayError(
      "upstream_error",
      "The issuer cannot be used: its key set holds no public key.",
    );
  return { keys: keys.map((key) => ({ ...publicPart(key), ...oneAlgorithm(key, rsaAlgorithm) })) };
}

function isVerifier(key: unknown): key is JWK {
  return isObject(key) && TYPES.has(key["kty"]) && (key["use"] ?? "sig") === "sig";
}

function oneAlgorithm({ kty, alg }: JWK, rsaAlgorithm: RsaAlgorithm): Partial<JWK> {
  return kty === "RSA" && typeof alg !== "string" ? { alg: rsaAlgorithm } : {};
}

function publicPart(key: JWK): JWK {
  const members = MEMBERS.filter((name) => Object.hasOwn(key, name));
  return Object.assign({ kty: key.kty }, ...members.map((name) => ({ [name]: key[name] })));
}
