import { GatewayError } from "propylon";
import {
  AllowedAddresses,
  HttpClient,
  isLoopback,
  isObject,
  isSameHost,
  networkReason,
  parseJson,
  timeoutSignal,
} from "propylon/kit";
import { issuerFault } from "./refusal.ts";

/** Largest document in bytes; key sets and metadata have a few thousand. */
const MAX_DOCUMENT = 256 * 1024;
const MAX_DEPTH = 16;
/** Most connections to one issuer at a time. */
const MAX_CONNECTIONS = 16;

/** What an issuer answered. */
export interface IssuerDocument {
  readonly status: number;
  readonly cacheControl: string;
  /** Empty for an answer that is no JSON object. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** A form that is posted. */
export interface IssuerForm {
  readonly authorization: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Reads small JSON documents of issuers: bounded in size and time, and no redirect is followed. */
export class IssuerDocuments {
  readonly #timeout: number;
  readonly #addresses: AllowedAddresses;
  /** To addresses that the operator wrote. */
  readonly #chosen: HttpClient;
  /** To addresses that an issuer named: public ones, or allowed ones. */
  readonly #named: HttpClient;

  /** @throws {GatewayError} `invalid` for an entry of `allowedAddresses` that is no host, address or network */
  constructor(options: { readonly allowedAddresses: readonly string[]; readonly timeout: number }) {
    this.#timeout = options.timeout;
    this.#addresses = new AllowedAddresses(
      options.allowedAddresses,
      "plugins.oauth-resource.allowedAddresses",
    );
    this.#chosen = new HttpClient(CLIENT);
    this.#named = new HttpClient({ ...CLIENT, lookup: this.#addresses.guard(notAllowed) });
  }

  /**
   * Reads a document.
   *
   * @param url where it is
   * @param issuer the issuer, where its metadata name the URL; default: the operator wrote it
   * @throws {GatewayError} `upstream_error`
   */
  async read(url: URL, issuer?: URL): Promise<IssuerDocument> {
    const http = this.#clientFor(url, issuer);
    return this.#send(http, url, { method: "GET", headers: { accept: "application/json" } });
  }

  /** Posts a form; otherwise as {@link read}. */
  async post(url: URL, form: IssuerForm, issuer?: URL): Promise<IssuerDocument> {
    const http = this.#clientFor(url, issuer);
    const headers = {
      accept: "application/json",
      authorization: form.authorization,
      "content-type": "application/x-www-form-urlencoded",
    };
    const body = new URLSearchParams(form.fields).toString();
    return this.#send(http, url, { method: "POST", headers, body });
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    await Promise.all([this.#chosen.destroy(), this.#named.destroy()]);
  }

  #clientFor(url: URL, issuer: URL | undefined): HttpClient {
    if (issuer === undefined || isSameHost(url, issuer)) return this.#chosen;
    if (isSecure(url) && this.#addresses.permitsUrl(url)) return this.#named;
    throw notAllowed();
  }

  async #send(
    http: HttpClient,
    url: URL,
    request: Omit<Parameters<HttpClient["send"]>[1], "signal">,
  ): Promise<IssuerDocument> {
    const signal = timeoutSignal(this.#timeout);
    const headers = { ...request.headers, "user-agent": "propylon" };
    const reply = await http.send(url, { ...request, headers, signal });
    const value = parseDocument(await reply.bytes());
    return { status: reply.status, cacheControl: reply.header("cache-control"), body: value };
  }
}

const CLIENT = {
  maxResult: MAX_DOCUMENT,
  connections: MAX_CONNECTIONS,
  network: (cause: unknown): GatewayError =>
    cause instanceof GatewayError ? cause : issuerFault(networkReason(cause), cause),
  tooLarge: (): GatewayError => issuerFault("its answer is too large"),
};

function parseDocument(bytes: Buffer): IssuerDocument["body"] {
  try {
    const value = parseJson(bytes, MAX_DEPTH);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

function notAllowed(): GatewayError {
  return issuerFault("its metadata name an address that is not allowed");
}
