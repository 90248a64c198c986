import { isObject, parseJson } from "propylon/kit";
import { DEEPEST, ProviderHttp, type ProviderRequest } from "propylon/internal";
import { issuerFault } from "../refusal.ts";

/** What an issuer answered. */
export interface IssuerDocument {
  readonly status: number;
  readonly cacheControl: string;
  /** Empty for an answer that is not a JSON object. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** A form that is posted. */
export interface IssuerForm {
  readonly authorization: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Reads small JSON documents of issuers. */
export class IssuerDocuments {
  readonly #http: ProviderHttp;

  /** @throws {GatewayError} `invalid` for an entry of `allowedAddresses` that is not a host, address or network */
  constructor(options: { readonly allowedAddresses: readonly string[]; readonly timeout: number }) {
    this.#http = new ProviderHttp({
      ...options,
      option: "plugins.oauth-resource.allowedAddresses",
      fault: issuerFault,
    });
  }

  /**
   * Reads a document.
   *
   * @param url where it is
   * @param issuer the issuer, where its metadata name the URL; default: the operator wrote it
   * @throws {GatewayError} `upstream_error`
   */
  read(url: URL, issuer?: URL): Promise<IssuerDocument> {
    return this.#send(url, issuer, { headers: { accept: "application/json" } });
  }

  /** Posts a form; otherwise as {@link read}. */
  post(url: URL, { authorization, fields }: IssuerForm, issuer?: URL): Promise<IssuerDocument> {
    const headers = {
      accept: "application/json",
      authorization,
      "content-type": "application/x-www-form-urlencoded",
    };
    return this.#send(url, issuer, { method: "POST", headers, body: new URLSearchParams(fields) });
  }

  /** Ends every connection. */
  close(): Promise<void> {
    return this.#http.close();
  }

  async #send(
    url: URL,
    issuer: URL | undefined,
    request: ProviderRequest,
  ): Promise<IssuerDocument> {
    const response = await this.#http.from(issuer ? [issuer] : [])(url.href, request);
    const cacheControl = response.headers.get("cache-control") ?? "";
    return { status: response.status, cacheControl, body: await bodyOf(response) };
  }
}

async function bodyOf(response: Response): Promise<IssuerDocument["body"]> {
  try {
    const value = parseJson(Buffer.from(await response.arrayBuffer()), DEEPEST);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
