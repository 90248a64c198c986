import { timingSafeEqual, createHash } from "node:crypto";
import type { ClientAssertions } from "./client-assertions.ts";
import type { ClientDocuments } from "./client-documents.ts";
import { OauthError } from "../oauth-error.ts";
import type { OauthOptions } from "../options.ts";
import type { Registrations } from "./registrations.ts";

/** A program that people log in with. */
export interface OauthClient {
  readonly id: string;
  /** As it calls itself: hostile text. */
  readonly name: string;
  readonly redirects: readonly string[];
  /** How much of it is known: by the operator, by the host of its document, or nothing. */
  readonly kind: "configured" | "document" | "registered";
  /** `undefined` for a public client. */
  readonly secret: string | undefined;
  /** Whether it proves itself with a key. */
  readonly isKeyed: boolean;
}

/** A program that asks the token endpoint. */
export interface ProvenClient {
  readonly id: string;
  /** Whether it proved itself with a key. */
  readonly isKeyed: boolean;
}

/** What somebody proves to be a client with. */
export interface ClientProof {
  readonly id: string;
  readonly secret: string | undefined;
  /** A JSON Web Token that it signed (RFC 7523). */
  readonly assertion?: string | undefined;
}

/** Finds the programs: those of the config, those with a document, those that registered themselves. */
export class OauthClients {
  readonly #configured: OauthOptions["clients"];
  readonly #documents: ClientDocuments | undefined;
  readonly #registrations: Registrations;
  readonly #assertions: ClientAssertions;

  /** @param documents `undefined` where they do not count */
  constructor(
    configured: OauthOptions["clients"],
    documents: ClientDocuments | undefined,
    registrations: Registrations,
    assertions: ClientAssertions,
  ) {
    this.#assertions = assertions;
    this.#configured = configured;
    this.#documents = documents;
    this.#registrations = registrations;
  }

  /**
   * @param address who asks
   * @throws {OauthError} `invalid_client` for one that nobody knows
   */
  async find(id: string, address: string): Promise<OauthClient> {
    if (this.isConfigured(id)) return this.#ofConfig(id);
    if (isDocumentId(id)) return this.#ofDocument(id, address);
    const registration = await this.#registrations.find(id);
    if (!registration) throw unknown();
    const { name, redirects } = registration;
    const secret = this.#registrations.secretOf(id, registration);
    return { id, name, redirects, kind: "registered", secret, isKeyed: false };
  }

  /** Whether the operator vouches for a program and the addresses that it names. */
  isConfigured(id: string): boolean {
    return Object.hasOwn(this.#configured, id);
  }

  /**
   * A client that proved itself. A public one only says who it is.
   *
   * @param address who asks
   * @throws {OauthError} `invalid_client`; `temporarily_unavailable` for too many questions
   */
  async authenticate(proof: ClientProof, address: string): Promise<ProvenClient> {
    const { id, secret, assertion } = proof;
    if (!this.isConfigured(id) && isDocumentId(id))
      return { id, isKeyed: await this.#provesKey(proof, address) };
    if (assertion !== undefined) throw unknown();
    const client = await this.find(id, address);
    if (client.secret !== undefined && !isSameSecret(secret, client.secret)) throw unknown();
    return { id, isKeyed: false };
  }

  /** Whether it needed to is known by the code or the login: the host of the document may be away by now. */
  async #provesKey({ id, assertion }: ClientProof, address: string): Promise<boolean> {
    if (!this.#documents) throw unknown();
    if (assertion === undefined) return false;
    const { keys } = await this.#documents.read(id, address);
    if (!keys) throw unknown();
    await this.#assertions.check(id, assertion, keys);
    return true;
  }

  #ofConfig(id: string): OauthClient {
    const { name, redirects, secret } = this.#configured[id]!;
    return { id, name, redirects, kind: "configured", secret, isKeyed: false };
  }

  async #ofDocument(id: string, address: string): Promise<OauthClient> {
    if (!this.#documents) throw unknown();
    const { name, redirects, keys } = await this.#documents.read(id, address);
    const isKeyed = keys !== undefined;
    return { id, name, redirects, kind: "document", secret: undefined, isKeyed };
  }
}

function isDocumentId(id: string): boolean {
  return /^https?:/i.test(id);
}

function isSameSecret(given: string | undefined, own: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(own));
}

/** A code or a login of a program with a key is useless without that key. @throws {OauthError} `invalid_client` */
export function checkKeyed(
  client: ProvenClient,
  { isKeyed = false }: { isKeyed?: boolean | undefined },
): void {
  if (isKeyed && !client.isKeyed) throw unknown();
}

function unknown(): OauthError {
  return new OauthError(
    "invalid_client",
    "This program is not known here, or did not prove itself.",
    {
      status: 401,
    },
  );
}
