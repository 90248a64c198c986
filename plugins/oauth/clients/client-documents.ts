import {
  AllowedAddresses,
  FIRST_PROBLEM,
  HttpClient,
  networkReason,
  parseJson,
  timeoutSignal,
} from "propylon/kit";
import { Buckets, ExpiringMap, rsaAlgorithmSchema } from "propylon/internal";
import { KeySet } from "propylon/plugins/keys";
import { z } from "zod";
import { OauthError, tooOften } from "../oauth-error.ts";
import { isRedirect } from "../redirects.ts";

const MAX_DOCUMENT = 64 * 1024;
const TIMEOUT_MS = 5_000;
const MAX_DEPTH = 8;
/** Longest URL of a document; it travels in a cookie. */
const MAX_URL = 400;
const MAX_KNOWN = 1_000;
/** Documents that are being fetched at a time. */
const MAX_FETCHING = 16;
/** Fetches that one address may cause in a minute. */
const MAX_PER_MINUTE = 30;
const MIN_AGE_S = 60;
const DEFAULT_AGE_S = 300;
const MAX_AGE_S = 86_400;
/** A document that cannot be used is not asked for again so soon. */
const FAILED_AGE_MS = 30_000;
const MAX_REDIRECTS = 50;

const documentSchema = z.object({
  client_id: z.string(),
  client_name: z.string().min(1).max(1_000),
  redirect_uris: z.array(z.unknown()).max(1_000),
  token_endpoint_auth_method: z.string().optional(),
  /** How its RSA keys sign that do not say so themselves; another value says nothing of those. */
  token_endpoint_auth_signing_alg: rsaAlgorithmSchema().catch("RS256"),
  jwks: z.object({ keys: z.array(z.unknown()).max(1_000) }).optional(),
  jwks_uri: z.string().optional(),
});

type DocumentText = z.infer<typeof documentSchema>;

/** What a program says of itself at its own URL. */
export interface ClientDocument {
  readonly name: string;
  readonly redirects: readonly string[];
  /** With which it proves itself; absent for a public client. */
  readonly keys: KeySet | undefined;
}

type Known = ClientDocument | OauthError;

/**
 * Reads Client ID Metadata Documents (draft-ietf-oauth-client-id-metadata-document): https, a public address, 5 seconds, 64 KiB and no
 * redirect, because a client that names a URL must not reach what the gateway reaches.
 */
export class ClientDocuments {
  readonly #addresses: AllowedAddresses;
  readonly #http: HttpClient;
  readonly #known = new ExpiringMap<Known>(MAX_KNOWN);
  readonly #fetching = new Map<string, Promise<Known>>();
  readonly #rate = new Buckets(MAX_PER_MINUTE, 60_000 / MAX_PER_MINUTE);

  /** @throws {GatewayError} `invalid` for an entry of `allowedAddresses` that is not a host, address or network */
  constructor(allowedAddresses: readonly string[]) {
    this.#addresses = new AllowedAddresses(allowedAddresses, "plugins.oauth.allowedAddresses");
    this.#http = new HttpClient({
      maxResult: MAX_DOCUMENT,
      connectTimeout: TIMEOUT_MS,
      connections: 2,
      lookup: this.#addresses.guard(notPublic),
      network: fetchFault,
      tooLarge: () => unusable("it has more than 64 KiB"),
    });
  }

  /**
   * What a URL says.
   *
   * @param address who asks
   * @throws {OauthError} `invalid_client` where it is not a document about a program; `temporarily_unavailable` for too many
   * questions
   */
  async read(id: string, address: string): Promise<ClientDocument> {
    const known = this.#known.get(id) ?? (await this.#fetch(id, address));
    if (known instanceof OauthError) throw known;
    return known;
  }

  /** Ends every connection. */
  close(): Promise<void> {
    return this.#http.destroy();
  }

  #fetch(id: string, address: string): Promise<Known> {
    const running = this.#fetching.get(id);
    if (running) return running;
    const url = this.#check(id);
    const wait = this.#rate.take(address, performance.now());
    if (wait > 0) throw tooOften(wait);
    if (this.#fetching.size >= MAX_FETCHING) throw tooOften(1_000);
    const fetching = this.#load(id, url).finally(() => this.#fetching.delete(id));
    this.#fetching.set(id, fetching);
    return fetching;
  }

  /** A text that is read in one way only: what a URL parser would change is refused. */
  #check(id: string): URL {
    const url = id.length <= MAX_URL && URL.canParse(id) ? new URL(id) : undefined;
    const isPlain =
      url !== undefined &&
      url.protocol === "https:" &&
      url.href === id &&
      url.pathname !== "/" &&
      url.username === "" &&
      url.password === "" &&
      !id.includes("#");
    if (!isPlain) throw unusable("its URL is not a plain https URL with a path");
    if (!this.#addresses.permitsUrl(url)) throw notPublic();
    return url;
  }

  async #get(url: URL): Promise<{ readonly bytes: Buffer; readonly life: number }> {
    const reply = await this.#http.send(url, {
      method: "GET",
      headers: { accept: "application/json", "user-agent": "propylon" },
      signal: timeoutSignal(TIMEOUT_MS),
    });
    const bytes = await reply.bytes();
    if (reply.status !== 200) throw unusable(`its URL answers with HTTP ${reply.status}`);
    return { bytes, life: lifeOf(reply.header("cache-control")) };
  }

  /** There is no secret that both could have: it has a key, or says that it has none. */
  #keysOf({ jwks, jwks_uri: uri, ...said }: DocumentText): KeySet | undefined {
    const { token_endpoint_auth_method: method = "none" } = said;
    const { token_endpoint_auth_signing_alg: rsa } = said;
    if (method === "none") return undefined;
    if (method !== "private_key_jwt")
      throw unusable("token_endpoint_auth_method must be none or private_key_jwt");
    if ((jwks === undefined) === (uri === undefined))
      throw unusable("it must have either jwks or jwks_uri");
    if (uri === undefined) return new KeySet(async () => jwks, rsa);
    const url = this.#check(uri);
    return new KeySet(async () => parse((await this.#get(url)).bytes), rsa);
  }

  async #load(id: string, url: URL): Promise<Known> {
    try {
      const { bytes, life } = await this.#get(url);
      const text = readText(id, bytes);
      const document = { ...describe(text), keys: this.#keysOf(text) };
      this.#known.set(id, document, Date.now() + life);
      return document;
    } catch (error) {
      const failure = error instanceof OauthError ? error : unusable("it does not answer", error);
      this.#known.set(id, failure, Date.now() + FAILED_AGE_MS);
      return failure;
    }
  }
}

function readText(id: string, bytes: Buffer): DocumentText {
  const { data } = documentSchema.safeParse(parse(bytes), FIRST_PROBLEM);
  if (!data) throw unusable("it is not such a document");
  if (data.client_id !== id) throw unusable("it is about another client_id");
  return data;
}

function describe(data: DocumentText): Omit<ClientDocument, "keys"> {
  const redirects = data.redirect_uris
    .slice(0, MAX_REDIRECTS)
    .filter((uri): uri is string => typeof uri === "string" && isRedirect(uri));
  if (redirects.length === 0) throw unusable("it has no redirect URI that can be used");
  return { name: data.client_name, redirects };
}

function parse(bytes: Buffer): unknown {
  try {
    return parseJson(bytes, MAX_DEPTH);
  } catch {
    return undefined;
  }
}

/** In milliseconds (RFC 9111 section 5.2.2), within bounds: nobody makes the gateway ask for every request. */
function lifeOf(cacheControl: string): number {
  const [, given] = /\bmax-age="?(\d{1,9})/i.exec(cacheControl) ?? [];
  const seconds = given === undefined ? DEFAULT_AGE_S : Number(given);
  return Math.min(Math.max(seconds, MIN_AGE_S), MAX_AGE_S) * 1_000;
}

function unusable(why: string, cause?: unknown): OauthError {
  return new OauthError(
    "invalid_client",
    `The document about this program cannot be used: ${why}.`,
    {
      cause,
    },
  );
}

function notPublic(cause?: unknown): OauthError {
  return unusable("its address is not public", cause);
}

/**
 * Nobody has to log in to name a URL here. A name that no resolver knows and one that leads inside are answered alike: otherwise
 * strangers would read the names of the operator's network.
 */
function fetchFault(cause: unknown): OauthError {
  if (cause instanceof OauthError) return cause;
  const isLookup = (cause as NodeJS.ErrnoException).syscall === "getaddrinfo";
  return isLookup ? notPublic(cause) : unusable(networkReason(cause), cause);
}
