import { randomBytes } from "node:crypto";
import { Buckets } from "propylon/internal";
import type { Kv, Unsubscribe } from "propylon/store";
import { z } from "zod";
import { OauthError, tooOften } from "../oauth-error.ts";
import { OpaqueTexts } from "../opaque.ts";
import type { OauthOptions } from "../options.ts";
import { isRedirect } from "../redirects.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** How long one is kept that nobody logged in with. */
export const UNUSED_MS = DAY_MS;
/** How long one is kept after it was last used. */
export const USED_MS = 90 * DAY_MS;
const MAX_REDIRECTS = 10;

/** Ways in which a client proves itself at the token endpoint (RFC 7591 section 2). */
export const CLIENT_AUTH_METHODS = ["none", "client_secret_basic", "client_secret_post"] as const;

/** Schema of a registration, as it is stored. */
export const registrationRecordSchema = z.object({
  name: z.string(),
  redirects: z.array(z.string()).max(1_000),
  method: z.enum(CLIENT_AUTH_METHODS),
  createdAt: z.number(),
  /** When it was used last; absent: never. */
  usedAt: z.number().optional(),
});

/** A program that registered itself. */
export type Registration = z.infer<typeof registrationRecordSchema>;

/** What a registration is made of. */
export interface RegistrationParts {
  /** Writes one that is new, and forgets it soon. */
  readonly unused: Kv<Registration>;
  /** Writes one that was used. Both are of one bucket. */
  readonly used: Kv<Registration>;
  readonly ids: OpaqueTexts;
  readonly secrets: OpaqueTexts;
  readonly options: OauthOptions["registration"];
}

/** Programs that registered themselves (RFC 7591): bounded by address and in all, and those that nobody uses go. */
export class Registrations {
  readonly #parts: RegistrationParts;
  readonly #rate: Buckets;
  /** Keys in the order in which they came, and whether they were used. */
  readonly #index = new Map<string, boolean>();

  constructor(parts: RegistrationParts) {
    const { perAddress } = parts.options;
    this.#parts = parts;
    this.#rate = new Buckets(perAddress, HOUR_MS / perAddress);
  }

  /** How many there are. */
  get size(): number {
    return this.#index.size;
  }

  /** Learns of those that are there, and of what other replicas do. */
  open(): Promise<Unsubscribe> {
    return this.#parts.unused.watch("", (key, entry) => {
      if (entry) this.#index.set(key, entry.value.usedAt !== undefined);
      else this.#index.delete(key);
    });
  }

  /**
   * Takes a registration.
   *
   * @throws {OauthError} `invalid_redirect_uri`, `invalid_client_metadata`; `temporarily_unavailable` where there are too many
   */
  async add(metadata: RegistrationRequest, address: string): Promise<RegisteredClient> {
    const { options, unused, ids } = this.#parts;
    const registration = readRequest(metadata);
    const wait = this.#rate.take(address, performance.now());
    if (wait > 0) throw tooOften(wait);
    if (this.#index.size >= options.maxClients) await this.#makeRoom();
    const key = randomBytes(16).toString("base64url");
    this.#index.set(key, false);
    await unused.put(key, registration);
    const id = ids.make(key);
    return { id, registration, secret: this.secretOf(id, registration) };
  }

  /** @returns `undefined` for an id that this gateway did not give, or has forgotten */
  async find(id: string): Promise<Registration | undefined> {
    const [key] = this.#parts.ids.read(id) ?? [];
    return key === undefined ? undefined : (await this.#parts.unused.get(key))?.value;
  }

  /** It is derived from the id: nothing that is stored tells it. */
  secretOf(id: string, { method }: Pick<Registration, "method">): string | undefined {
    return method === "none" ? undefined : this.#parts.secrets.make(id.split(".")[0]!);
  }

  /** Keeps one for longer, because somebody logged in with it; written once a day at most. */
  async touch(id: string): Promise<void> {
    const [key] = this.#parts.ids.read(id) ?? [];
    const entry = key === undefined ? undefined : await this.#parts.unused.get(key);
    if (!entry || (entry.value.usedAt ?? 0) > Date.now() - DAY_MS) return;
    await this.#parts.used.update(entry.key, { ...entry.value, usedAt: Date.now() }, entry.rev);
    this.#index.set(entry.key, true);
  }

  /** Drops from the index what ran out meanwhile: the store tells of that when it removes it. */
  async tidy(): Promise<void> {
    const known = [...this.#index.keys()];
    const there = new Set<string>();
    for await (const { key } of this.#parts.unused.list()) there.add(key);
    for (const key of known) if (!there.has(key)) this.#index.delete(key);
  }

  /** One that somebody logged in with never makes room for a newcomer. */
  async #makeRoom(): Promise<void> {
    const oldest = this.#oldestUnused();
    if (oldest === undefined) throw tooOften(HOUR_MS);
    this.#index.delete(oldest);
    await this.#parts.unused.delete(oldest);
  }

  #oldestUnused(): string | undefined {
    for (const [key, isUsed] of this.#index) if (!isUsed) return key;
    return undefined;
  }
}

/** Schema of a request to register (RFC 7591 section 2); what is not known is ignored. */
export const registrationRequestSchema = z.object({
  client_name: z.string().optional(),
  redirect_uris: z.array(z.unknown()).max(1_000).optional(),
  token_endpoint_auth_method: z.string().optional(),
  grant_types: z.array(z.string()).max(1_000).optional(),
  response_types: z.array(z.string()).max(1_000).optional(),
});

type RegistrationRequest = z.infer<typeof registrationRequestSchema>;

/** What a program is told of itself. */
export interface RegisteredClient {
  readonly id: string;
  readonly registration: Registration;
  readonly secret: string | undefined;
}

function readRequest(request: RegistrationRequest): Registration {
  // Some programs name a scheme of their own besides: one URI that can be used is enough.
  const redirects = (request.redirect_uris ?? [])
    .filter((uri): uri is string => typeof uri === "string" && isRedirect(uri))
    .slice(0, MAX_REDIRECTS);
  if (redirects.length === 0)
    throw new OauthError(
      "invalid_redirect_uri",
      "No redirect URI can be used: expected https, http on loopback, or a scheme of the program.",
    );
  const asked = request.token_endpoint_auth_method ?? "none";
  return {
    name: (request.client_name ?? "").slice(0, 200),
    redirects,
    method: CLIENT_AUTH_METHODS.find((method) => method === asked) ?? "none",
    createdAt: Date.now(),
  };
}
