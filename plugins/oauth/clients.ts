import { timingSafeEqual, createHash } from "node:crypto";
import type { ClientDocuments } from "./client-documents.ts";
import { OauthError } from "./oauth-error.ts";
import type { OauthOptions } from "./options.ts";
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
}

/** What somebody proves to be a client with. */
export interface ClientProof {
  readonly id: string;
  readonly secret: string | undefined;
}

/** Finds the programs: those of the config, those with a document, those that registered themselves. */
export class OauthClients {
  readonly #configured: OauthOptions["clients"];
  readonly #documents: ClientDocuments | undefined;
  readonly #registrations: Registrations;

  /** @param documents `undefined` where they do not count */
  constructor(
    configured: OauthOptions["clients"],
    documents: ClientDocuments | undefined,
    registrations: Registrations,
  ) {
    this.#configured = configured;
    this.#documents = documents;
    this.#registrations = registrations;
  }

  /**
   * @param address who asks
   * @throws {OauthError} `invalid_client` for one that nobody knows
   */
  async find(id: string, address: string): Promise<OauthClient> {
    if (Object.hasOwn(this.#configured, id)) return this.#ofConfig(id);
    if (isDocumentId(id)) return this.#ofDocument(id, address);
    const registration = await this.#registrations.find(id);
    if (!registration) throw unknown();
    const { name, redirects } = registration;
    const secret = this.#registrations.secretOf(id, registration);
    return { id, name, redirects, kind: "registered", secret };
  }

  /**
   * The id of a client that proved itself. A public one only says who it is.
   *
   * @throws {OauthError} `invalid_client`
   */
  async authenticate({ id, secret }: ClientProof): Promise<string> {
    // What a code or a refresh token was made for is compared by this id: nothing of the document is needed.
    if (!Object.hasOwn(this.#configured, id) && isDocumentId(id)) {
      if (this.#documents) return id;
      throw unknown();
    }
    const client = await this.find(id, "");
    if (client.secret !== undefined && !isSameSecret(secret, client.secret)) throw unknown();
    return id;
  }

  #ofConfig(id: string): OauthClient {
    const { name, redirects, secret } = this.#configured[id]!;
    return { id, name, redirects, kind: "configured", secret };
  }

  async #ofDocument(id: string, address: string): Promise<OauthClient> {
    if (!this.#documents) throw unknown();
    const { name, redirects } = await this.#documents.read(id, address);
    return { id, name, redirects, kind: "document", secret: undefined };
  }
}

function isDocumentId(id: string): boolean {
  return /^https?:/i.test(id);
}

function isSameSecret(given: string | undefined, own: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(own));
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
